import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, internal, match, player, refuse, sdk, serve } from './helpers.mjs';

const duel = { region: 'eu', mode: 'duel' };

// Pins a retry that does not wait for Retry-After, and one that the director takes for another request.
test('503 is repeated after Retry-After, with the same key and body', async (t) => {
  const director = await serve(t, (req, res, n) => (n < 3 ? refuse(res, 503, 'unavailable', { 'Retry-After': '1' }) : answer(res, 200, match)));
  const retries = [];
  const got = await player(director.url, { onRetry: (retry) => retries.push(retry) }).matchmake({ ...duel, party: ['alice', 'bob'] });
  assert.deepEqual(got, match);
  const [first, , third] = director.requests;
  assert.ok(third.at - first.at >= 2000, 'two pauses of a second');
  assert.match(first.headers['idempotency-key'], /^[0-9a-f]{32}$/);
  for (const request of director.requests) {
    assert.equal(request.headers['idempotency-key'], first.headers['idempotency-key']);
    assert.deepEqual(JSON.parse(request.body), { ...duel, party: ['alice', 'bob'] });
    assert.equal(request.headers.authorization, 'Bearer access');
  }
  assert.deepEqual(retries.map(({ call, error }) => [call, error.code, error.retryAfter]), Array(2).fill(['POST /matchmake', 'unavailable', 1]));
});

// Pins two requests of a player that the director takes for one.
test('each call has a key of its own, also without crypto', async (t) => {
  const director = await serve(t, (req, res) => answer(res, 200, match));
  const alice = player(director.url);
  await alice.matchmake(duel);
  const { crypto } = globalThis;
  Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true }); // as in Node.js 18
  t.after(() => Object.defineProperty(globalThis, 'crypto', { value: crypto, configurable: true }));
  await alice.matchmake(duel);
  await alice.matchmake(duel);
  assert.equal(new Set(director.requests.map((r) => r.headers['idempotency-key'])).size, 3);
});

// Pins errors without what a program decides by.
test('refusals are typed and not repeated', async (t) => {
  const director = await serve(t, (req, res) => refuse(res, 409, 'no_capacity', { 'Retry-After': '2' }, { servers_starting: 3 }));
  await assert.rejects(player(director.url).matchmake(duel), (err) => {
    assert.ok(err instanceof sdk.DirectorError);
    const { call, status, code, detail, retryAfter, serversStarting, requestId } = err;
    assert.deepEqual({ call, status, code, detail, retryAfter, serversStarting, requestId }, {
      call: 'POST /matchmake', status: 409, code: 'no_capacity', detail: 'because no_capacity', retryAfter: 2, serversStarting: 3, requestId: 'r1',
    });
    return true;
  });
  assert.equal(director.requests.length, 1);
});

test('invalid fields are named', async (t) => {
  const errors = [{ field: 'region', detail: 'must be 1 to 32 characters' }];
  const director = await serve(t, (req, res) => refuse(res, 400, 'invalid_request', {}, { errors }));
  await assert.rejects(player(director.url).session('eu/../x'), (err) => (assert.deepEqual(err.fields, errors), true));
  assert.equal(director.requests[0].path, '/sessions/eu%2F..%2Fx');
});

// Pins a client that hammers a director with a defect, and one that gives up at once.
test('500 is repeated once', async (t) => {
  const director = await serve(t, (req, res) => refuse(res, 500, 'internal'));
  await assert.rejects(player(director.url).matchmake(duel), { status: 500, code: 'internal', requestId: 'r1' });
  assert.equal(director.requests.length, 2);
});

// Pins a seat that is given up although it would come: after no capacity, an expired seat, and a closed session.
test('seat waits for capacity and starts again', async (t) => {
  const director = await serve(t, (req, res, n) => {
    if (n === 1) return refuse(res, 409, 'no_capacity', { 'Retry-After': '1' }, { servers_starting: 1 });
    if (n === 3) return refuse(res, 403, 'no_seat');
    if (n === 5) return refuse(res, 410, 'session_closed');
    return req.url === '/matchmake' ? answer(res, 200, match) : answer(res, 200, { session_id: 'eu.s2', endpoint: 'other:1', session_token: 'a.b.c' });
  });
  const seat = await player(director.url).seat(duel);
  assert.deepEqual(seat, { ...match, session_id: 'eu.s2', endpoint: 'other:1', session_token: 'a.b.c' });
  assert.deepEqual(director.requests.map((r) => r.path), ['/matchmake', '/matchmake', '/resolve', '/matchmake', '/resolve', '/matchmake', '/resolve']);
  const keys = director.requests.filter((r) => r.path === '/matchmake').map((r) => r.headers['idempotency-key']);
  assert.equal(new Set(keys).size, 4, 'a new request must not get the stored answer of a closed session');
});

test('seat waits a second for capacity without Retry-After, and returns a misspelt mode at once', async (t) => {
  const director = await serve(t, (req, res, n) => refuse(res, 409, n === 1 ? 'no_capacity' : 'mode_unknown'));
  await assert.rejects(player(director.url).seat(duel), { code: 'mode_unknown' });
  assert.ok(director.requests[1].at - director.requests[0].at >= 1000);
});

// Pins pauses that grow until the director no longer counts the player as waiting.
test('seat asks as often as a director that starts servers wants', async (t) => {
  const director = await serve(t, (req, res, n) => {
    if (n <= 5) return refuse(res, 409, 'no_capacity', { 'Retry-After': '0' }, { servers_starting: 1 });
    return answer(res, 200, req.url === '/matchmake' ? match : { session_id: 'eu.s1', endpoint: 'e:1', session_token: 'a.b.c' });
  });
  const pauses = [];
  await player(director.url, { firstBackoff: 4, maxBackoff: 1000, onRetry: ({ pause }) => pauses.push(pause) }).seat(duel);
  assert.equal(pauses.length, 5);
  for (const pause of pauses) assert.ok(pause <= 6, `${pauses}`);
});

test('seat waits for the first server if asked to', async (t) => {
  const director = await serve(t, (req, res, n) => {
    if (n === 1) return refuse(res, 409, 'mode_unknown');
    return answer(res, 200, req.url === '/matchmake' ? match : { session_id: 'eu.s1', endpoint: 'e:1', session_token: 'a.b.c' });
  });
  assert.equal((await player(director.url).seat(duel, { awaitServers: true })).session_token, 'a.b.c');
});

// Pins a client that waits for a replica that is down, or asks it again and again.
test('a dead or draining replica costs no pause', async (t) => {
  const dead = await serve(t, () => {});
  dead.close();
  const draining = await serve(t, (req, res) => refuse(res, 503, 'draining', { 'Retry-After': '30' }));
  const alive = await serve(t, (req, res) => answer(res, 200, match));
  const alice = player([dead.url, draining.url, alive.url], { onRetry: () => assert.fail('a pause') });
  for (let i = 0; i < 6; i++) await alice.matchmake(duel);
  assert.equal(alive.requests.length, 6);
  assert.ok(draining.requests.length <= 3, 'it is skipped for a while');
});

test('all replicas are down for a while', async (t) => {
  let up = false;
  const director = await serve(t, (req, res) => (up ? answer(res, 200, match) : res.destroy()));
  const errors = [];
  const onRetry = ({ error }) => ((up = errors.push(error) > 1), undefined);
  await player(director.url, { onRetry }).matchmake(duel);
  assert.equal(errors.length, 2);
  for (const error of errors) assert.ok(error instanceof sdk.UnreachableError);
});

// Pins a replica that accepts calls and never answers.
test('a replica that hangs is given up after the timeout of an attempt', async (t) => {
  const hangs = await serve(t, () => {});
  const alive = await serve(t, (req, res) => answer(res, 200, match));
  const alice = player([hangs.url, alive.url], { attemptTimeout: 50 });
  await alice.matchmake(duel);
  await alice.matchmake(duel);
  assert.ok(alive.requests.length >= 2);
});

test('Retry-After is seconds or a date', async () => {
  const { parseRetryAfter } = await internal('errors.js');
  const now = Date.parse('2026-11-24T12:00:00Z');
  const cases = { 7: 7, 0: 0, 'Tue, 24 Nov 2026 12:00:09 GMT': 9, 'Tue, 24 Nov 2026 11:00:00 GMT': 0, '-1': undefined, '1.5': undefined, soon: undefined, '': undefined, 99999999999: undefined };
  for (const [value, want] of Object.entries(cases)) assert.equal(parseRetryAfter(value, now), want, value);
  assert.equal(parseRetryAfter(null, now), undefined);
});

// Pins pauses that do not double, that are all equal, or that a proxy can make a day long.
test('pauses double up to the longest, vary by half, and add Retry-After', async () => {
  const { Pacer } = await internal('pacer.js');
  const pacer = new Pacer(250, 30_000);
  for (let i = 0, interval = 250; i < 12; i++, interval = Math.min(2 * interval, 30_000)) {
    const pause = pacer.next();
    assert.ok(pause >= interval / 2 && pause <= interval * 1.5, `${pause} around ${interval}`);
  }
  pacer.reset();
  pacer.after(new sdk.DirectorError('GET /', 503, {}, new Headers({ 'Retry-After': '86400' })));
  const pause = pacer.next();
  assert.ok(pause >= 60_125 && pause <= 60_375, `${pause}`);
});
