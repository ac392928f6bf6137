import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { answer, match, player, refuse, sdk, serve, stream, text, ticket } from './helpers.mjs';

const duel = { region: 'eu', mode: 'duel' };
const wants = (token, then) => (req, res) => (req.headers.authorization === `Bearer ${token}` ? then(req, res) : refuse(res, 401, 'unauthorized'));

// Pins a player who has to log in although a new token was to be had, and calls that each get one of their own.
test('a refused token is replaced once, for all calls together', async (t) => {
  const director = await serve(t, wants('new', (req, res) => answer(res, 200, match)));
  const asked = [];
  let token = 'old';
  const alice = player(director.url, {
    token: async ({ refresh }) => {
      asked.push(refresh);
      if (refresh) await new Promise((resolve) => setTimeout(resolve, 20));
      return (token = refresh ? 'new' : token);
    },
  });
  await Promise.all([alice.matchmake(duel), alice.matchmake(duel)]);
  assert.deepEqual(asked, [false, false, true]);
  await alice.session('eu.s1');
  assert.deepEqual(asked, [false, false, true, false]);
});

test('a token that stays refused is not replaced for ever', async (t) => {
  const director = await serve(t, (req, res) => refuse(res, 401, 'unauthorized'));
  let refreshed = 0;
  await assert.rejects(player(director.url, { token: ({ refresh }) => ((refreshed += refresh), 'x') }).matchmake(duel), { status: 401 });
  assert.deepEqual([refreshed, director.requests.length], [1, 2]);
  await assert.rejects(player(director.url, { token: 'text' }).matchmake(duel), { status: 401 });
  assert.equal(director.requests.length, 3);
});

test('a call gets one new token, also if it is repeated', async (t) => {
  const director = await serve(t, (req, res, n) => (n === 2 ? refuse(res, 503, 'unavailable') : refuse(res, 401, 'unauthorized')));
  let refreshed = 0;
  await assert.rejects(player(director.url, { token: ({ refresh }) => ((refreshed += refresh), 'x') }).matchmake(duel), { status: 401 });
  assert.deepEqual([refreshed, director.requests.length], [1, 3]);
});

test('a stream gets a new token as well', async (t) => {
  const director = await serve(t, wants('new', (req, res) => (stream(res, text(ticket(1, 'assigned'))), res.end())));
  const states = player(director.url, { token: ({ refresh }) => (refresh ? 'new' : 'old') }).ticket('t1').watch();
  assert.equal((await states.next()).value.state, 'assigned');
  assert.equal((await states.next()).done, true);
});

test('what the login throws is thrown', async (t) => {
  const director = await serve(t, () => assert.fail('a call'));
  const err = new Error('login is down');
  await assert.rejects(player(director.url, { token: () => { throw err; } }).matchmake(duel), err);
  await assert.rejects(player(director.url, { token: async () => { throw err; } }).matchmake(duel), err);
});

// Pins secrets in what programs log: a token, a handle, a password in a URL.
test('errors and objects show no secret', async (t) => {
  const secret = 'eyJhbGciOiJFZERTQSJ9';
  const shown = [];
  const caught = (work) => assert.rejects(work, (err) => (shown.push(inspect(err, { depth: 9 }), String(err.stack)), true));
  const cut = await serve(t, (req, res) => res.end(`{"session_token": "${secret}`));
  await caught(player(cut.url).resolve(secret));
  await caught(player(cut.url, { token: `${secret}\n` }).matchmake(duel));
  await caught(player(cut.url, { token: () => undefined }).matchmake(duel));
  const late = await serve(t, (req, res) => refuse(res, 409, 'assigned', {}, { ticket: ticket(2, 'assigned', { session_handle: secret }) }));
  await assert.rejects(player(late.url).ticket('t1').cancel(), (err) => (shown.push(inspect(err)), assert.equal(err.ticket.session_handle, secret), true));
  await caught(async () => new sdk.Player({ urls: `https://me:${secret}@director.example`, token: 'x' }));
  await caught(async () => new sdk.Player({ urls: `nonsense ${secret}`, token: 'x' }));
  shown.push(inspect(player(cut.url, { token: secret }), { depth: 9 }), JSON.stringify(player(cut.url, { token: secret })));
  for (const output of shown) assert.ok(!output.includes(secret), output);
});

test('options that cannot work are refused', () => {
  for (const urls of [[], '', 'director.example', 'ftp://a', 'http://a?b', 'http://a#b']) assert.throws(() => player(urls), TypeError, String(urls));
});

test('a path of a base URL is kept', async (t) => {
  const director = await serve(t, (req, res) => answer(res, 200, match));
  await player(`${director.url}/eu/`).session('x');
  assert.equal(director.requests[0].path, '/eu/sessions/x');
});
