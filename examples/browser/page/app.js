// Queues a player, shows the place in line, asks whether to accept, and plays.
import { Player } from './sdk/index.js';
import { play } from './game.js';

const $ = (id) => document.getElementById(id);
const settings = await (await fetch('settings')).json();
let leave = new AbortController();

/** Returns a function that gets the access token from the login, and a new one when the director refuses it. */
function login(name) {
  let token;
  return async ({ refresh }) => {
    if (!token || refresh) {
      const answer = await fetch('login', { method: 'POST', body: new URLSearchParams({ name }) });
      if (!answer.ok) throw new Error(await answer.text());
      ({ token } = await answer.json());
    }
    return token;
  };
}

$('join').addEventListener('submit', async (event) => {
  event.preventDefault();
  const now = event.submitter?.value === 'now';
  const player = new Player({ urls: settings.urls, token: login($('name').value), onRetry: ({ pause }) => say(`The director does not answer. Again in ${Math.ceil(pause / 1000)} s…`) });
  leave = new AbortController();
  show({ join: false, leave: true });
  try {
    await enter(player);
    const seat = now ? await seatNow(player) : await queue(player);
    if (seat) await playUntilTheEnd(seat);
  } catch (err) {
    say(leave.signal.aborted ? 'You left.' : err.message);
  } finally {
    show({ join: true, leave: false, line: false, partner: false, ready: false, field: false });
  }
});

$('leave').addEventListener('click', () => leave.abort());

/** Waits in the login queue, where the operator limits how fast players enter. */
async function enter(player) {
  const onPlace = ({ state, position, waiting, estimate, closed }) => {
    show({ entrance: state === 'waiting' });
    if (state !== 'waiting') return;
    say(closed ? 'Nobody is let in at the moment. You keep your place.' : 'Many players come at once: you are in the login queue, and keep your place if you reload.');
    $('position').textContent = `${position} of ${waiting}`;
    $('wait').textContent = estimate?.p50 != null ? `${estimate.p50} to ${estimate.p90} s` : estimate ? `about ${Math.ceil(estimate.expected)} s` : 'not known';
  };
  try {
    await player.enter({ region: settings.region, signal: leave.signal, onPlace });
  } catch (err) {
    if (leave.signal.aborted) await player.leaveLoginQueue({ region: settings.region, signal: AbortSignal.timeout(5000) });
    throw err;
  } finally {
    show({ entrance: false });
  }
}

function seatNow(player) {
  say('Looking for a seat…');
  const request = { region: settings.region, mode: settings.mode };
  return player.seat(request, { signal: AbortSignal.any([leave.signal, AbortSignal.timeout(60_000)]) });
}

/** Waits with a ticket. Returns the way to the game server, or undefined if the ticket left the queue in another way. */
async function queue(player) {
  const ticket = await player.queue({ profiles: [settings.profile] }, { signal: leave.signal });
  const refresh = setInterval(() => ticket.read({ signal: leave.signal }).then(showNumbers, () => {}), 3000); // the place changes without a new state
  try {
    for await (const status of ticket.watch({ signal: leave.signal })) {
      say({ queued: 'You wait for a match.', accepting: 'Accept the match.', waiting_for_server: 'The match waits for a game server.' }[status.state] ?? status.state);
      showNumbers(status);
      show({ ready: status.state === 'accepting' });
      $('accept').onclick = () => answer(ticket, 'accept', status.match_id); // the match on the screen: the next one asks again
      $('decline').onclick = () => answer(ticket, 'decline', status.match_id);
      if (status.state === 'assigned') return player.resolve(status.session_handle, { signal: leave.signal });
      if (status.reason) say(`${status.state}: ${status.detail ?? status.reason}`);
    }
    return undefined;
  } catch (err) {
    if (leave.signal.aborted) await ticket.cancel({ signal: AbortSignal.timeout(5000) });
    throw err;
  } finally {
    clearInterval(refresh);
  }
}

async function answer(ticket, method, matchId) {
  show({ ready: false });
  try {
    await ticket[method](matchId, { signal: AbortSignal.timeout(15_000) });
  } catch (err) {
    say(err.code === 'too_late' ? 'Too late.' : err.message);
  }
}

function showNumbers(status) {
  show({ line: status.state === 'queued', partner: status.state === 'queued' });
  if (settings.bots) $('bots').textContent = `${settings.bots} bots play here: one of them queues again within seconds. `;
  $('place').textContent = status.place ?? '…';
  $('estimate').textContent = status.estimate ? `${Math.round(status.estimate.p50)} to ${Math.round(status.estimate.p90)} s` : 'not known yet';
  if (status.accept) $('accepted').textContent = `${status.accept.accepted} of ${status.accept.players} have accepted.`;
}

async function playUntilTheEnd(seat) {
  say('Connecting…');
  show({ line: false, partner: false, ready: false, field: true });
  say(await play(seat, { canvas: $('field'), list: $('players'), signal: leave.signal, onWelcome: (you) => say(`You play as ${you}.`) }));
}

function say(text) {
  $('status').textContent = text;
}

function show(parts) {
  for (const [id, visible] of Object.entries(parts)) $(id).hidden = !visible;
}
