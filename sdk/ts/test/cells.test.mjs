import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, internal, match, player, refuse, serve, ticket } from './helpers.mjs';

const duel = { region: 'eu', mode: 'duel' };
const elsewhere = (res, address, region = 'eu') => refuse(res, 421, 'region_elsewhere', {}, { region, address });
// fetch itself repeats a request that is answered with 421 once, on a new connection, as its standard says: nothing was carried out.
const paths = (director) => [...new Set(director.requests.map((r) => `${r.method} ${r.path} ${r.headers['idempotency-key'] ?? ''}`))].map((r) => r.split(' ', 2).join(' '));

// Pins a client that asks the entry again for each call, and one that asks it for a ticket that it does not have.
test('a cell is followed and remembered', async (t) => {
  const cell = await serve(t, (req, res) => answer(res, 200, req.url.startsWith('/tickets') ? ticket(1) : { ...match, session_token: 's', endpoint: 'e' }));
  const entry = await serve(t, (req, res) => elsewhere(res, `${cell.url}/`));
  const alice = player(entry.url);
  await alice.matchmake(duel);
  await alice.seat(duel);
  const queued = await alice.queue({ latencies: { eu: 20 } });
  await queued.read();
  await alice.ticket(queued.id).cancel();
  assert.deepEqual(paths(entry), ['POST /matchmake', 'POST /tickets']);
  assert.deepEqual(paths(cell), ['POST /matchmake', 'POST /matchmake', 'POST /resolve', 'POST /tickets', 'GET /tickets/t1', 'DELETE /tickets/t1']);
  assert.equal(cell.requests[0].headers.authorization, 'Bearer access');
  assert.equal(cell.requests[0].headers['idempotency-key'], entry.requests[0].headers['idempotency-key']);
});

// Pins a loop of cells, and a cell that may name addresses.
test('a call follows one answer, of the entry alone', async (t) => {
  const third = await serve(t, (req, res) => answer(res, 200, match));
  const cell = await serve(t, (req, res) => elsewhere(res, third.url));
  const entry = await serve(t, (req, res) => elsewhere(res, cell.url));
  const alice = player(entry.url);
  for (let i = 0; i < 2; i++) await assert.rejects(alice.matchmake(duel), { code: 'region_elsewhere', status: 421, region: 'eu', address: third.url });
  assert.deepEqual([paths(entry).length, paths(cell).length, third.requests.length], [2, 2, 0]);
  assert.ok(entry.requests.length <= 4 && cell.requests.length <= 6, 'there is no loop');
});

// Pins a region that has moved back, or to a third cell, and is not found.
test('a cell that is not reachable is asked for again', async (t) => {
  const cell = await serve(t, (req, res) => answer(res, 200, match));
  let moved = true;
  const entry = await serve(t, (req, res) => (moved ? elsewhere(res, cell.url) : answer(res, 200, match)));
  const alice = player(entry.url);
  await alice.matchmake(duel);
  cell.close();
  moved = false;
  await alice.matchmake(duel);
  assert.equal(paths(entry).length, 2);
});

// Pins a token that is sent to an address which nobody may name, or in plain text.
test('only addresses of cells are followed', async () => {
  const { Cells } = await internal('cells.js');
  const { DirectorError } = await internal('errors.js');
  const followed = (address, asked = 'https://eu.example', code = 'region_elsewhere') =>
    new Cells().follow(asked, new DirectorError('POST /matchmake', 421, { code, region: 'us', address }));
  assert.equal(followed('https://us.example/director/'), 'https://us.example/director');
  assert.equal(followed('http://us.example', 'http://eu.example'), 'http://us.example');
  for (const address of ['http://us.example', 'ftp://us.example', '//us.example', 'https://ada:secret@us.example', 'https://us.example?x', 'https://', '', 'us', 7, undefined]) {
    assert.equal(followed(address), undefined, `${address}`);
  }
  assert.equal(followed('https://us.example', 'https://eu.example', ''), undefined, 'of a proxy');
});
