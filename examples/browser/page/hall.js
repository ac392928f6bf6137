// The list of rooms, and the way into one.
import { $, act, element, onSubmit, show } from './parts.js';

let stopWatching = () => {};

/** Shows the rooms that can be joined, until the player is in one. */
export async function openHall(player) {
  show({ hall: true, room: false, game: false, check: false });
  onSubmit('create', 'room-name', (name) =>
    leaveHall(() => player.join('lobby', `lobby:${name}`, { max_members: 4 })));
  onSubmit('join-code', 'code', (code) => leaveHall(() => player.joinByCode(code)));
  const shown = { room_type: 'lobby', joinable: true, order: 'newest', limit: 50 };
  await act(async () => {
    stopWatching = await player.lobby.watchRooms(shown, (rooms) => list(player, rooms));
  });
}

function list(player, rooms) {
  show({ 'no-rooms': rooms.length === 0 });
  const focused = document.activeElement?.dataset?.room;
  $('rooms').replaceChildren(...rooms.map((room) => row(player, room)));
  // The new button of the same room gets the focus, so that a player can use the keyboard while the list changes.
  const buttons = [...document.querySelectorAll('#rooms button')];
  if (focused) buttons.find(({ dataset }) => dataset.room === focused)?.focus();
}

function row(player, { id, members, max_members }) {
  const name = id.slice('lobby:'.length);
  const join = () => act(() => leaveHall(() => player.join('lobby', id)));
  const button = element('button', `Join ${name}`, { onclick: join });
  button.dataset.room = id;
  const item = element('li', `${name}, ${members} of ${max_members} players`);
  item.append(button);
  return item;
}

/** Joins a room, and hides the list only then: a player who may not join stays here. */
async function leaveHall(join) {
  await join();
  stopWatching();
  show({ hall: false });
}
