// Finds a room, chats, becomes ready, and plays: the client of sdk/ts for the realtime lobby. hall.js has the rooms, room.js one of them.
import { Lobby } from './sdk/lobby/index.js';
import { $, act, say, show } from './parts.js';
import { openHall } from './hall.js';
import { enterRoom } from './room.js';

const settings = await (await fetch('settings')).json();

/** Returns a function that gets a token of the lobby from the login, and a new one when the director refuses it. */
function login(name) {
  let token;
  return async ({ refresh }) => {
    if (!token || refresh) {
      const answer = await fetch('lobby-login', { method: 'POST', body: new URLSearchParams({ name }) });
      if (!answer.ok) throw new Error(await answer.text());
      ({ token } = await answer.json());
    }
    return token;
  };
}

$('enter').addEventListener('submit', (event) => {
  event.preventDefault();
  act(() => enter($('name').value));
});

// A page that is loaded again has the same name and session, and so is in the same room.
const kept = JSON.parse(sessionStorage.getItem('player') ?? 'null');
if (kept) {
  $('name').value = kept.name;
  await act(() => enter(kept.name, kept));
}

async function enter(name, before = {}) {
  say('Connecting…');
  const lobby = await Lobby.connect({ urls: settings.lobby, token: login(name), session: before.session }, { signal: AbortSignal.timeout(15_000) });
  const player = { lobby, name, settings };
  const keep = (room) => sessionStorage.setItem('player', JSON.stringify({ name, session: lobby.session, room }));
  lobby.on('connected', () => {
    keep(player.room?.id);
    say('You are back.');
  });
  lobby.on('disconnected', () => say('The connection was lost. Reconnecting…'));
  lobby.on('ended', (err) => say(err.message));
  lobby.on('invited', (invited) => offer(player, invited));
  player.openHall = () => {
    player.room = undefined;
    keep();
    openHall(player);
  };
  const enter = (room) => {
    player.room = room;
    keep(room.id);
    return enterRoom(player);
  };
  player.join = async (type, id, options = {}) => enter(await lobby.join(type, id, { name, ...options }));
  player.joinByCode = async (code) => enter(await lobby.joinByCode(code, { name }));
  show({ enter: false });
  say(`You are ${name}.`);
  if (before.room) return player.join('lobby', before.room).catch(player.openHall); // it may be gone
  return player.openHall();
}

/** Shows an invitation, unless the player is in that room. */
function offer(player, { room, room_type, from_player }) {
  if (player.room?.id === room) return;
  $('invited-by').textContent = `${from_player} invites you to ${room.slice(room.indexOf(':') + 1)}.`;
  show({ invitation: true });
  $('accept-invitation').onclick = () => act(async () => {
    show({ invitation: false });
    await player.room?.leave();
    await player.join(room_type, room);
  });
  $('decline-invitation').onclick = () => act(async () => {
    await player.lobby.room(room).leave();
    show({ invitation: false });
  });
}
