// The list of rooms, and the way into one.
import { $, act, element, show } from './parts.js';

let refresh; // the timer of the list

export function openHall(player) {
  show({ hall: true, room: false, game: false, check: false });
  clearInterval(refresh);
  refresh = setInterval(() => act(() => list(player)), 1000);
  $('create').onsubmit = (event) => {
    event.preventDefault();
    act(() => leaveHall(player, `lobby:${$('room-name').value}`));
  };
  return act(() => list(player));
}

async function list(player) {
  const { rooms } = await player.lobby.list({ type: 'lobby', limit: 50 });
  const rows = rooms.filter(({ members }) => members > 0).map(({ id, members }) => row(player, id, members));
  show({ 'no-rooms': rows.length === 0 });
  const focused = document.activeElement?.dataset?.room; // the keyboard stays on its room
  $('rooms').replaceChildren(...rows);
  if (focused) [...document.querySelectorAll('#rooms button')].find(({ dataset }) => dataset.room === focused)?.focus();
}

function row(player, id, members) {
  const name = id.slice('lobby:'.length);
  const button = element('button', `Join ${name}`, { onclick: () => act(() => leaveHall(player, id)) });
  button.dataset.room = id;
  const item = element('li', `${name}, ${members === 1 ? '1 player' : `${members} players`}`);
  item.append(button);
  return item;
}

async function leaveHall(player, id) {
  await player.join('lobby', id, { max_members: 4 });
  clearInterval(refresh);
  show({ hall: false });
}
