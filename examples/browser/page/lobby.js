// Connects a player to the realtime lobby, with the client of sdk/ts. hall.js shows the list of rooms, room.js the one
// that the player is in.
import { Lobby } from './sdk/lobby/index.js';
import { $, act, login, say, show } from './parts.js';
import { openHall } from './hall.js';
import { enterRoom } from './room.js';

const settings = await (await fetch('settings')).json();

$('enter').addEventListener('submit', (event) => {
  event.preventDefault();
  act(() => connect($('name').value));
});

// A page that is loaded again resumes the session, and so is in the same room.
const stored = JSON.parse(sessionStorage.getItem('player') ?? 'null');
if (stored) {
  $('name').value = stored.name;
  await act(() => connect(stored.name, stored));
}

/** Connects as a player, with the session and the room that the page had before it was loaded again, if it had any. */
async function connect(name, { session, room } = {}) {
  say('Connecting…');
  const options = { urls: settings.lobby, token: login('lobby-login', name), session };
  const lobby = await Lobby.connect(options, { signal: AbortSignal.timeout(15_000) });
  const player = { lobby, name, settings };
  const store = (roomID) =>
    sessionStorage.setItem('player', JSON.stringify({ name, session: lobby.session, room: roomID }));
  lobby.on('connected', () => {
    store(player.room?.id);
    say('You are back.');
  });
  lobby.on('disconnected', () => say('The connection was lost. Reconnecting…'));
  lobby.on('ended', (err) => say(err.message));
  lobby.on('invited', (invitation) => showInvitation(player, invitation));
  player.openHall = () => {
    player.room = undefined;
    store();
    openHall(player);
  };
  const showRoom = (joined) => {
    player.room = joined;
    store(joined.id);
    return enterRoom(player);
  };
  player.join = async (type, id, more = {}) => showRoom(await lobby.join(type, id, { name, ...more }));
  player.joinByCode = async (code) => showRoom(await lobby.joinByCode(code, { name }));
  show({ enter: false });
  say(`You are ${name}.`);
  if (room) return player.join('lobby', room).catch(player.openHall); // the room may be gone
  return player.openHall();
}

/** Shows an invitation, unless the player is in that room already. */
function showInvitation(player, { room, room_type, from_player }) {
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
