// Queues a player, shows the place in line, asks whether to accept, and plays.
import { Player } from './sdk/index.js';
import { play } from './game.js';
import { $, login, say, show } from './parts.js';

const settings = await (await fetch('settings')).json();
let leave = new AbortController(); // of the present visit: the button Leave aborts what the player waits for

$('join').addEventListener('submit', async (event) => {
  event.preventDefault();
  const withoutQueue = event.submitter?.value === 'now';
  const onRetry = ({ pause }) => say(`The director does not answer. Again in ${Math.ceil(pause / 1000)} s…`);
  const player = new Player({ urls: settings.urls, token: login('login', $('name').value), onRetry });
  leave = new AbortController();
  show({ join: false, leave: true });
  try {
    await enter(player);
    const seat = withoutQueue ? await seatNow(player) : await queue(player);
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
    say(closed
      ? 'Nobody is let in at the moment. You keep your place.'
      : 'Many players come at once: you are in the login queue, and keep your place if you reload.');
    $('position').textContent = `${position} of ${waiting}`;
    $('wait').textContent = waitText(estimate);
  };
  try {
    await player.enter({ region: settings.region, signal: leave.signal, onPlace });
  } catch (err) {
    const { region } = settings;
    if (leave.signal.aborted) await player.leaveLoginQueue({ region, signal: AbortSignal.timeout(5000) });
    throw err;
  } finally {
    show({ entrance: false });
  }
}

/** Describes the estimated wait in the login queue: a range where there are samples enough for one. */
function waitText(estimate) {
  if (!estimate) return 'not known';
  return estimate.p50 != null ? `${estimate.p50} to ${estimate.p90} s` : `about ${Math.ceil(estimate.expected)} s`;
}

function seatNow(player) {
  say('Looking for a seat…');
  const request = { region: settings.region, mode: settings.mode };
  return player.seat(request, { signal: AbortSignal.any([leave.signal, AbortSignal.timeout(60_000)]) });
}

// What the player reads in a state of the ticket; the other states are shown by their names.
const stateTexts = {
  queued: 'You wait for a match.',
  accepting: 'Accept the match.',
  waiting_for_server: 'The match waits for a game server.',
};

/** Waits with a ticket. Returns the seat, or undefined if the ticket left the queue without a match. */
async function queue(player) {
  const ticket = await player.queue({ profiles: [settings.profile] }, { signal: leave.signal });
  // Every 3 s beside the watch, which reports only new states: the place in line changes without one.
  const refresh = setInterval(() => ticket.read({ signal: leave.signal }).then(showNumbers, () => {}), 3000);
  try {
    for await (const status of ticket.watch({ signal: leave.signal })) {
      say(stateTexts[status.state] ?? status.state);
      showNumbers(status);
      show({ ready: status.state === 'accepting' });
      // With the id of the match on the screen: a click that comes late must not accept the next match.
      $('accept').onclick = () => answer(ticket, 'accept', status.match_id);
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

/** Answers with a method of the ticket, "accept" or "decline". */
async function answer(ticket, method, matchId) {
  show({ ready: false });
  try {
    await ticket[method](matchId, { signal: AbortSignal.timeout(15_000) });
  } catch (err) {
    say(err.code === 'too_late' ? 'Too late.' : err.message);
  }
}

/** Shows the place in line, the estimated wait, and how many players have accepted the match. */
function showNumbers(status) {
  show({ line: status.state === 'queued', partner: status.state === 'queued' });
  const { bots } = settings;
  if (bots) $('bots').textContent = `${bots} bots play here: one of them queues again within seconds. `;
  $('place').textContent = status.place ?? '…';
  const { estimate, accept } = status;
  const range = estimate && `${Math.round(estimate.p50)} to ${Math.round(estimate.p90)} s`;
  $('estimate').textContent = range ?? 'not known yet';
  if (accept) $('accepted').textContent = `${accept.accepted} of ${accept.players} have accepted.`;
}

async function playUntilTheEnd(seat) {
  say('Connecting…');
  show({ line: false, partner: false, ready: false, field: true });
  const onWelcome = (you) => say(`You play as ${you}.`);
  say(await play(seat, { canvas: $('field'), list: $('players'), signal: leave.signal, onWelcome }));
}
