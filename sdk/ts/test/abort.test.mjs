import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { player, refuse, serve, stream, text, ticket } from './helpers.mjs';

const duel = { region: 'eu', mode: 'duel' };
const reason = new Error('the player left');
const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

/** Waits until there are no more timers than before. Those of the network end soon; a pause would last for a minute. */
async function timersEnd(before) {
  for (const end = Date.now() + 10_000; timers() > before; ) {
    assert.ok(Date.now() < end, 'a timer is left');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

// Pins calls that do not end with their signal, and what they leave behind: listeners of a signal that lives long, timers.
const waits = {
  'during a request': (t) => serve(t, () => {}),
  'during a pause': (t) => serve(t, (req, res) => refuse(res, 503, 'unavailable', { 'Retry-After': '50' })),
  'during an answer': (t) => serve(t, (req, res) => res.write('{"session_id":')),
};
for (const [name, start] of Object.entries(waits)) {
  test(`a call ends ${name}`, async (t) => {
    const director = await start(t);
    const before = timers();
    const controller = new AbortController();
    const call = player(director.url).matchmake(duel, { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 50);
    await assert.rejects(call, reason);
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
    await timersEnd(before);
  });
}

test('a call ends while the login is slow, and does not begin when it is too late', async (t) => {
  const director = await serve(t, () => assert.fail('a call'));
  const alice = player(director.url, { token: () => new Promise(() => {}) });
  await assert.rejects(alice.matchmake(duel, { signal: AbortSignal.timeout(20) }), { name: 'TimeoutError' });
  await assert.rejects(player(director.url).matchmake(duel, { signal: AbortSignal.abort(reason) }), reason);
});

test('a watch ends with its signal, and closes the stream', async (t) => {
  let closed;
  const end = new Promise((resolve) => (closed = resolve));
  const director = await serve(t, (req, res) => (res.on('close', closed), stream(res, text(ticket(1)))));
  const controller = new AbortController();
  const states = player(director.url).ticket('t1').watch({ signal: controller.signal });
  assert.equal((await states.next()).value.version, 1);
  const next = states.next();
  controller.abort(reason);
  await assert.rejects(next, reason);
  await end;
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
});

test('leaving the loop closes the stream', async (t) => {
  let closed;
  const end = new Promise((resolve) => (closed = resolve));
  const director = await serve(t, (req, res) => (res.on('close', closed), stream(res, text(ticket(1)))));
  const before = timers();
  for await (const state of player(director.url).ticket('t1').watch()) {
    assert.equal(state.version, 1);
    break;
  }
  await end;
  await timersEnd(before);
});
