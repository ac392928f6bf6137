import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, player, refuse, sdk, serve, stream } from './helpers.mjs';

const waiting = (position) => ({ state: 'waiting', valve: 'launch', position, waiting: 9, estimate: { expected: 3, soonest: 2, latest: null }, ask_after: 1 });
const admitted = { state: 'admitted', valve: 'launch' };
const event = (place) => `event: ${place.state}\nid: 1\ndata: ${JSON.stringify(place)}\n\n`;

/** Enters, and returns the places that the program saw. */
async function enter(urls, options = {}, made = {}) {
  const places = [];
  await player(urls, made).enter({ ...options, onPlace: (place) => places.push(place.position ?? place.state) });
  return places;
}

test('no valve: the player is in at once', async (t) => {
  const director = await serve(t, (req, res) => answer(res, 200, { state: 'admitted' }));
  assert.deepEqual(await enter(director.url, { region: 'eu' }, { build: '1.2' }), ['admitted']);
  const [request] = director.requests;
  assert.deepEqual([request.method, request.path, request.body, request.headers['client-build']], ['POST', '/login-queue', '{"region":"eu"}', '1.2']);
});

// Pins a place that is given up where a stream breaks: the next call finds it again, at any replica.
test('a broken stream continues, at the other replica', async (t) => {
  const scripts = [[waiting(7), waiting(5)], [waiting(4), admitted]];
  const handler = (req, res) => {
    if (req.method === 'POST') return answer(res, 200, waiting(scripts.length > 1 ? 8 : 5));
    stream(res, ...scripts.shift().map(event));
    return res.end();
  };
  const [a, b] = [await serve(t, handler), await serve(t, handler)];
  assert.deepEqual(await enter([a.url, b.url], { region: 'eu' }), [8, 7, 5, 5, 4, 'admitted']);
  assert.ok([...a.requests, ...b.requests].filter((r) => r.path === '/login-queue/events?region=eu').length === 2);
});

test('a place that was lost is taken anew, and polls replace streams that bring nothing', async (t) => {
  let streams = 0;
  const director = await serve(t, (req, res) => {
    if (req.method === 'POST') return answer(res, 200, waiting(9));
    if (req.url === '/login-queue?wait=10s') return answer(res, 200, admitted);
    return ++streams === 1 ? refuse(res, 404, 'not_in_login_queue') : res.destroy();
  });
  assert.deepEqual(await enter(director.url), [9, 9, 9, 9, 'admitted']);
});

test('refusals, leaving, and a signal', async (t) => {
  const director = await serve(t, (req, res) => {
    if (req.method === 'DELETE') return answer(res, 200, { left: true });
    if (req.method === 'POST' && req.url === '/login-queue') return refuse(res, 400, 'invalid_request');
    return refuse(res, 429, 'not_admitted', {}, { login_queue: waiting(3) });
  });
  await assert.rejects(enter(director.url), { code: 'invalid_request' });
  assert.equal(await player(director.url).leaveLoginQueue({ region: 'eu' }), true);
  const seen = [];
  const controller = new AbortController();
  const onRetry = ({ error }) => (seen.push(error.loginQueue.position), controller.abort());
  await assert.rejects(player(director.url, { onRetry }).matchmake({ region: 'eu', mode: 'duel' }, { signal: controller.signal }));
  assert.deepEqual(seen, [3], 'a program that does not enter first sees its place');
  assert.equal(new sdk.DirectorError('x', 429, { code: 'not_admitted' }).loginQueue, undefined);
});
