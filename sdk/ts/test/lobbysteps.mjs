// The steps of the scenarios with the lobby.
import { Lobby } from '../sdk/lobby/index.js';

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

  /** The events of a kind. */
  lobbyEvents: ({ player, kind }) => client(player).events.filter((event) => event.kind === kind),

  /** Watches a list of rooms. */
  async lobbyWatch({ player, query }) {
    const watcher = client(player);
    watcher.stop = await watcher.lobby.watchRooms(query, (rooms) => (watcher.rooms = rooms));
  },

  /** The list that is watched; null before it is known. */
  lobbyListed: ({ player }) => client(player).rooms,
  /** Watches the presence of players. */
  async lobbyFriends({ player, players }) {
    const watcher = client(player);
    watcher.stop = await watcher.lobby.watchFriends(players, (friends) => (watcher.rooms = friends));
  },
  lobbyUnwatch: ({ player }) => client(player).stop(),

  /** The messages in all rooms. */
  lobbySaid: ({ player }) => client(player).said,
  /** The replica to which the client is connected. */
  lobbyURL: ({ player }) => client(player).lobby.url,
};
