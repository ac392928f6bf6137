// The list of rooms, and the way into one.
import { $, act, element, show } from './parts.js';

let stop = () => {}; // ends the list

export async function openHall(player) {
  show({ hall: true, room: false, game: false, check: false });
  submits('create', 'room-name', (name) => enter(player, () => player.join('lobby', `lobby:${name}`, { max_members: 4 })));
  submits('join-code', 'code', (code) => enter(player, () => player.joinByCode(code)));
  await act(async () => {
    stop = await player.lobby.watchRooms({ room_type: 'lobby', joinable: true, order: 'newest', limit: 50 }, (rooms) => list(player, rooms));
  });
}

/** Gives a form's field to a function. */
function submits(form, field, take) {
  $(form).onsubmit = (event) => {
    event.preventDefault();
    act(() => take($(field).value));
  };
}

function list(player, rooms) {
  show({ 'no-rooms': rooms.length === 0 });
  const focused = document.activeElement?.dataset?.room; // the keyboard stays on its room
  $('rooms').replaceChildren(...rooms.map((room) => row(player, room)));
  if (focused) [...document.querySelectorAll('#rooms button')].find(({ dataset }) => dataset.room === focused)?.focus();
}

function row(player, { id, members, max_members }) {
  const name = id.slice('lobby:'.length);
  const button = element('button', `Join ${name}`, { onclick: () => act(() => enter(player, () => player.join('lobby', id))) });
  button.dataset.room = id;
  const item = element('li', `${name}, ${members} of ${max_members} players`);
  item.append(button);
  return item;
}

async function enter(player, join) {
  await join();
  stop();
  show({ hall: false });
}
