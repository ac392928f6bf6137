// The steps of scenarios with the lobby. lobby_test.go runs them, in Node.js and in Chromium.
import { Lobby } from '../sdk/lobby/index.js';
import { until } from './until.mjs';

const clients = new Map();
const kinds = ['connected', 'disconnected', 'ended', 'invited', 'match', 'pending', 'expired', 'mail', 'frame'];

/** What the tests see of a room. */
const describe = ({ id, type, state, seq, sessions, members, me, isOwner }) => ({ id, type, state, seq, sessions, members, me: me ?? null, isOwner });

/** What the tests see of an event: errors have no fields that JSON shows. */
const plain = (event) => (event instanceof Error ? { name: event.name, message: event.message, code: event.code } : event);

function client(player) {
  const found = clients.get(player);
  if (!found) throw new Error(`no lobby client ${player}`);
  return found;
}

export const lobbySteps = {
  /** Connects a client. The first of the tokens is the current one; a refresh drops it. */
  async lobby({ player, urls, tokens, session }) {
    const left = [...tokens];
    const token = ({ refresh }) => {
      if (refresh) left.shift();
      return left[0];
    };
    const lobby = await Lobby.connect({ urls, token: left.length > 1 ? token : left[0], session, maxBackoff: 1000 }, { signal: AbortSignal.timeout(60_000) });
    const events = [];
    for (const kind of kinds) lobby.on(kind, (event) => events.push({ kind, ...plain(event) }));
    clients.set(player, { lobby, events, said: [] });
    return { session: lobby.session, connected: lobby.connected };
  },

  /** Calls a method of the client; a room is described. */
  async lobbyCall({ player, method, args }) {
    const { lobby, said, events } = client(player);
    const answer = await lobby[method](...(args ?? []));
    if (!answer?.id) return answer;
    if (!answer.isListenedTo) {
      answer.isListenedTo = true;
      answer.on('message', ({ type, data, from }) => said.push({ room: answer.id, type, data, from }));
      answer.on('left', (event) => events.push({ kind: 'left', room: answer.id, ...event }));
    }
    return describe(answer);
  },

  roomCall: ({ player, room, method, args }) => client(player).lobby.room(room)[method](...(args ?? [])),
  roomSeen: ({ player, room }) => describe(client(player).lobby.room(room)),

  /** Waits until an expression of a room is true, and returns the room. */
  roomUntil({ player, room, holds }) {
    const seen = client(player).lobby.room(room);
    const judge = new Function('room', `return ${holds}`);
    return until(() => `${holds} in ${room} of ${player}: ${JSON.stringify(describe(seen))}`, () => (judge(seen) ? describe(seen) : undefined));
  },

  /** Waits for n events of a kind, and returns all of them. */
  lobbyEvents({ player, kind, n = 1 }) {
    const seen = () => client(player).events.filter((event) => event.kind === kind);
    return until(() => `${n} ${kind} of ${player}: ${JSON.stringify(client(player).events)}`, () => (seen().length >= n ? seen() : undefined));
  },

  /** Watches a list of rooms. */
  async lobbyWatch({ player, query }) {
    const watcher = client(player);
    watcher.stop = await watcher.lobby.watchRooms(query, (rooms) => (watcher.rooms = rooms));
  },

  /** Waits until an expression about the list is true. */
  lobbyListed({ player, holds }) {
    const judge = new Function('rooms', `return ${holds}`);
    return until(() => `${holds} of ${player}: ${JSON.stringify(client(player).rooms)}`, () => (judge(client(player).rooms) ? true : undefined));
  },
  /** Watches the presence of players. */
  async lobbyFriends({ player, players }) {
    const watcher = client(player);
    watcher.stop = await watcher.lobby.watchFriends(players, (friends) => (watcher.rooms = friends));
  },
  lobbyUnwatch: ({ player }) => client(player).stop(),

  /** Waits for n messages in all rooms, and returns them. */
  lobbySaid: ({ player, n }) => until(() => `${n} messages of ${player}: ${JSON.stringify(client(player).said)}`, () => (client(player).said.length >= n ? client(player).said : undefined)),
  /** The replica to which the client is connected. */
  lobbyURL: ({ player }) => client(player).lobby.url,
};
