// A room: its members, the chat, readiness, and the game of its match.
import { play } from './game.js';
import { $, act, element, onSubmit, say, show } from './parts.js';

const phaseTexts = {
  open: 'All must be ready, then the owner starts.',
  queued: 'You wait for a match.',
  matched: 'Your match was found.',
  countdown: 'The match starts soon.',
};

/** Shows player.room until the player has left it. */
export function enterRoom(player) {
  const { room, lobby } = player;
  $('room-title').textContent = room.id.slice('lobby:'.length);
  $('chat').replaceChildren();
  const names = new Map(); // by session, also of members who have left: their lines stay in the chat
  const listeners = [
    room.on('state', () => draw(room, names)),
    room.on('message', (message) => showLine(message, names)),
    room.on('left', ({ self, reason }) => self && end(endText(reason))),
    lobby.on('match', (found) => act(() => playMatch(player, found))),
    lobby.on('pending', (pending) => askToAccept(lobby, pending)),
  ];
  const end = (text) => {
    listeners.forEach((remove) => remove());
    show({ room: false });
    say(text);
    player.openHall();
  };
  $('ready').onclick = () => act(() => room.ready(!room.me?.ready));
  $('start').onclick = () => act(() => room.start({ room_type: player.settings.room_type }));
  $('cancel').onclick = () => act(() => room.cancelQueue());
  $('leave-room').onclick = () => act(async () => {
    await room.leave();
    end('You left the room.');
  });
  onSend('say', 'line', (text) => room.say(text));
  onSend('invite', 'friend', async (name) => {
    await room.invite(name);
    say(`${name} is invited for five minutes.`);
  });
  show({ room: true, hall: false, invitation: false });
  draw(room, names);
  return act(() => showHistoryAndCode(room, names));
}

function endText(reason) {
  if (reason === 'kicked') return 'The owner removed you.';
  return reason ? `You left the room (${reason}).` : 'You left the room.';
}

/** Shows what was said before, and the code with which friends join. */
async function showHistoryAndCode(room, names) {
  for (const message of await room.history()) showLine(message, names);
  // code() makes the code if there is none yet.
  $('room-code').textContent = room.isOwner ? (await room.code()).code : room.state.code ?? 'ask the owner';
}

/** Does as onSubmit, and empties the field. */
function onSend(form, field, action) {
  onSubmit(form, field, (text) => {
    $(field).value = '';
    return action(text);
  });
}

/** Shows the members and the phase, and enables what the player may do. */
function draw(room, names) {
  const { members, state, me, isOwner } = room;
  for (const { session, name } of members) names.set(session, name);
  $('members').replaceChildren(...members.map(({ session, name, ready, away }) => {
    const notes = [session === state.owner && 'owner', away ? 'away' : ready ? 'ready' : 'not ready'].filter(Boolean);
    const item = element('li', `${name} (${notes.join(', ')})`);
    const remove = () => act(() => room.kick(session));
    if (isOwner && session !== me?.session) item.append(element('button', `Remove ${name}`, { onclick: remove }));
    return item;
  }));
  $('ready').setAttribute('aria-pressed', String(me?.ready === true));
  $('start').disabled = !members.every(({ ready, away }) => ready && !away) || members.length < 2;
  show({ start: isOwner && state.phase !== 'queued', cancel: state.phase === 'queued' });
  $('phase').textContent = phaseTexts[state.phase] ?? '';
}

/** Adds a message to the chat, if it is one that players read. */
function showLine({ type, data, from, from_player: player }, names) {
  const textByType = {
    say: () => `${names.get(from) ?? player ?? 'somebody'}: ${data.text}`,
    unqueued: () => `Out of the queue: ${data.detail ?? data.reason}.`,
    matched: () => 'A match was found.',
  };
  const line = textByType[type]?.();
  if (!line) return;
  $('chat').append(element('p', line));
  $('chat').scrollTop = $('chat').scrollHeight;
}

/** Asks the player to accept a match within so many seconds. */
function askToAccept(lobby, { match_id, seconds }) {
  $('check-seconds').textContent = seconds;
  show({ check: true });
  for (const answer of ['accept', 'decline']) {
    $(answer).onclick = () => act(() => {
      show({ check: false });
      return lobby[answer](match_id);
    });
  }
}

/** Joins the room of a match and plays on its game server, until the game ends or the player goes back to the room. */
async function playMatch({ lobby, name, room }, found) {
  show({ check: false });
  const match = await lobby.joinMatch(found, { name });
  if (!match.state.server) return say('The match has no game server: the director does not know the room type.');
  const leave = new AbortController();
  $('leave-game').onclick = () => leave.abort();
  show({ room: false, game: true });
  const seat = await match.resolve();
  const onWelcome = (you) => say(`You play as ${you}.`);
  say(await play(seat, { canvas: $('field'), list: $('players'), signal: leave.signal, onWelcome }));
  show({ room: room.seq > 0, game: false }); // 0: the player is not in the room any more
  await match.leave();
}
