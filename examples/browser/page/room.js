// A room: who is in it, the chat, readiness, and the game of its match.
import { play } from './game.js';
import { $, act, element, say, show } from './parts.js';

const phases = { open: 'All must be ready, then the owner starts.', queued: 'You wait for a match.', matched: 'Your match was found.', countdown: 'It starts soon.' };

export function enterRoom(player) {
  const { room, lobby } = player;
  $('room-title').textContent = room.id.slice('lobby:'.length);
  $('chat').replaceChildren();
  const names = new Map(); // of sessions that have left, too
  const listening = [
    room.on('state', () => draw(room, names)),
    room.on('message', (message) => hear(message, names)),
    room.on('left', ({ self, reason }) => self && end(reason === 'kicked' ? 'The owner removed you.' : `You left the room${reason ? ` (${reason})` : ''}.`)),
    lobby.on('match', (found) => act(() => playMatch(player, found))),
    lobby.on('pending', (pending) => check(lobby, pending)),
  ];
  const end = (text) => {
    listening.forEach((off) => off());
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
  submits('say', 'line', (text) => room.say(text));
  submits('invite', 'friend', async (name) => {
    await room.invite(name);
    say(`${name} is invited for five minutes.`);
  });
  show({ room: true, hall: false, invitation: false });
  draw(room, names);
  return act(() => greet(room, names));
}

/** Shows what was said before, and the code with which friends join. */
async function greet(room, names) {
  for (const line of await room.history()) hear(line, names);
  $('room-code').textContent = room.isOwner ? (await room.code()).code : room.state.code ?? 'ask the owner';
}

/** Gives a form's field to a function, and empties it. */
function submits(form, field, take) {
  $(form).onsubmit = (event) => {
    event.preventDefault();
    const text = $(field).value;
    $(field).value = '';
    act(() => take(text));
  };
}

function draw(room, names) {
  const { members, state, me, isOwner } = room;
  for (const { session, name } of members) names.set(session, name);
  $('members').replaceChildren(...members.map(({ session, name, ready, away }) => {
    const notes = [session === state.owner && 'owner', away ? 'away' : ready ? 'ready' : 'not ready'].filter(Boolean);
    const item = element('li', `${name} (${notes.join(', ')})`);
    if (isOwner && session !== me?.session) item.append(element('button', `Remove ${name}`, { onclick: () => act(() => room.kick(session)) }));
    return item;
  }));
  $('ready').setAttribute('aria-pressed', String(me?.ready === true));
  $('start').disabled = !members.every(({ ready, away }) => ready && !away) || members.length < 2;
  show({ start: isOwner && state.phase !== 'queued', cancel: state.phase === 'queued' });
  $('phase').textContent = phases[state.phase] ?? '';
}

function hear({ type, data, from, from_player: player }, names) {
  const line = { say: () => `${names.get(from) ?? player ?? 'somebody'}: ${data.text}`, unqueued: () => `Out of the queue: ${data.detail ?? data.reason}.`, matched: () => 'A match was found.' }[type]?.();
  if (!line) return;
  $('chat').append(element('p', line));
  $('chat').scrollTop = $('chat').scrollHeight;
}

/** Asks the player to accept a match. */
function check(lobby, { match_id, seconds }) {
  $('check-seconds').textContent = seconds;
  show({ check: true });
  for (const answer of ['accept', 'decline']) {
    $(answer).onclick = () => act(() => {
      show({ check: false });
      return lobby[answer](match_id);
    });
  }
}

async function playMatch({ lobby, name, room }, found) {
  show({ check: false });
  const match = await lobby.joinMatch(found, { name });
  if (!match.state.server) return say('The match has no game server: the director does not know the room type.');
  const leave = new AbortController();
  $('leave-game').onclick = () => leave.abort();
  show({ room: false, game: true });
  const seat = await match.resolve();
  say(await play(seat, { canvas: $('field'), list: $('players'), signal: leave.signal, onWelcome: (you) => say(`You play as ${you}.`) }));
  show({ room: room.seq > 0, game: false });
  await match.leave();
}
