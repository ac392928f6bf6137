// What docs/how-to/lobbies.md shows. unit_test.go compiles it against the built package.
import { Lobby, LobbyError, type Member, type Room } from '@lattice-director/sdk/lobby';

declare const backend: { lobbyToken(refresh: boolean): Promise<string> };
declare function connect(endpoint: string, sessionToken: string): void;
declare function show(phase: unknown, members: Member[]): void;
declare function print(line: string): void;
declare function ask(question: string): Promise<boolean>;

export async function enter(): Promise<Lobby> {
const lobby = await Lobby.connect({ urls: ['ws://127.0.0.1:4000'], token: ({ refresh }) => backend.lobbyToken(refresh) });
return lobby;
}

export async function makeParty(lobby: Lobby): Promise<Room> {
const party = await lobby.createParty({ name: 'Ada' });
await party.invite('bo');
return party;
}

export function invited(lobby: Lobby): void {
lobby.on('invited', async ({ room, room_type, from_player }) => {
  if (await ask(`Join the party of ${from_player}?`)) await lobby.join(room_type, room, { name: 'Bo' });
  else await lobby.room(room).leave();
});
}

export async function chat(party: Room): Promise<void> {
party.on('state', (state) => show(state.phase, party.members));
party.on('message', ({ type, data, from }) => {
  if (type === 'say') print(`${from}: ${(data as { text: string }).text}`);
});
await party.say('hello');
}

export async function queue(party: Room): Promise<void> {
await party.queue({ room_type: 'duel', size: 4, latencies: { eu: 34, us: 120 } });
}

export async function meet(lobby: Lobby): Promise<void> {
const room = await lobby.join('lobby', 'lobby:friday', { name: 'Ada', settings: { map: 'dust' } });
await room.team('red');
await room.ready(true);

if (room.isOwner) {
  await room.set('map', 'nuke');
  await room.start({ room_type: 'duel' });
}
}

export async function find(lobby: Lobby): Promise<void> {
const open = await lobby.createLobby({ name: 'Ada', max_members: 4, metadata: { map: 'dust', skill: 1200 } });

const stop = await lobby.watchRooms(
  { room_type: 'lobby', joinable: true, order: 'members', filter: { map: ['dust', 'nuke'], skill: { min: 1000, max: 1400 } } },
  (rooms) => rooms.forEach(({ id, metadata, members, max_members }) => print(`${id} ${metadata?.map} ${members}/${max_members}`)),
);

const { code, link } = await open.code(); // such as KX7-4ZM

await open.update({ private: true, max_members: 4, metadata: { map: 'nuke' } });
print(`${code} ${link}`);
stop();
}

export async function joinByCode(lobby: Lobby): Promise<void> {
const room = await lobby.joinByCode('kx74zm', { name: 'Bo' });
for (const { from_player, data } of await room.history()) print(`${from_player}: ${(data as { text: string }).text}`);
}

export async function friends(lobby: Lobby, party: Room): Promise<void> {
await party.setData({ character: 'fox', colour: '#c33' }); // in party.members
await party.send('x.emote', { name: 'wave' });

await lobby.watchFriends(['bo', 'cy'], (friends) => friends.forEach(({ player, online, rooms }) => print(`${player} ${online} ${rooms[0]?.id}`)));

lobby.on('mail', async ({ from_player, data, number }) => {
  print(`${from_player}: ${(data as { text: string }).text}`);
  await lobby.markRead(number);
});
await lobby.sendTo('bo', 'say', { text: 'are you there?' });
}

export function play(lobby: Lobby): void {
lobby.on('match', async (found) => {
  const match = await lobby.joinMatch(found, { name: 'Ada' });
  if (!match.state.server) return; // a match among the players alone
  const { endpoint, session_token } = await match.resolve();
  connect(endpoint, session_token);
});
}

export function readyCheck(lobby: Lobby): void {
lobby.on('pending', async ({ match_id, seconds }) => {
  const accepts = await ask(`A match was found. Accept it within ${seconds} seconds?`);
  await (accepts ? lobby.accept(match_id) : lobby.decline(match_id));
});
}

export async function errors(lobby: Lobby): Promise<void> {
try {
  await lobby.join('lobby', 'lobby:friday');
} catch (err) {
  if (!(err instanceof LobbyError)) throw err;
  print(err.code === 'room_full' ? 'The room is full.' : `${err.detail} ${err.hint}`);
}
}
