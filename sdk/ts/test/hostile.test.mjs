import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { answer, built, collect, compressed, internal, player, sdk, serve, stream, text, ticket } from './helpers.mjs';

const duel = { region: 'eu', mode: 'duel' };

/** Writes for as long as the other end reads, and returns how many bytes that were. */
async function flood(res, piece) {
  let written = 0;
  const closed = once(res, 'close');
  while (!res.destroyed) {
    written += piece.length;
    if (!res.write(piece)) await Promise.race([closed, once(res, 'drain', { signal: AbortSignal.timeout(30_000) })]);
  }
  return written;
}

const bound = 8 << 20; // what a client reads at most, and what the sockets in between hold

// Pins a peer that fills the memory of a page.
test('an answer without an end is cut', async (t) => {
  let flooded;
  const director = await serve(t, (req, res) => (flooded = flood(res, 'x'.repeat(64 << 10))));
  const errors = [];
  const controller = new AbortController();
  const onRetry = ({ error }) => (errors.push(error), controller.abort());
  await assert.rejects(player(director.url, { onRetry }).matchmake(duel, { signal: controller.signal }), { name: 'AbortError' });
  assert.ok(errors[0] instanceof sdk.UnreachableError);
  assert.ok((await flooded) < bound);
});

const floods = {
  'a line without an end': 'x'.repeat(64 << 10),
  'an event without an end': `data: ${'x'.repeat(1000)}\n`,
  'a huge event': `data: {"ticket_id": "t1", "state": "${'x'.repeat(1 << 20)}"}\n\n`,
};
for (const [name, piece] of Object.entries(floods)) {
  test(`${name} ends a stream`, async (t) => {
    const sizes = [];
    const director = await serve(t, (req, res) => {
      if (!req.url.endsWith('/events')) return answer(res, 200, ticket(1, 'assigned'));
      stream(res);
      return sizes.push(flood(res, piece));
    });
    assert.deepEqual(await collect(player(director.url).ticket('t1').watch()), ['assigned 1']);
    assert.equal(sizes.length, 3);
    for (const size of await Promise.all(sizes)) assert.ok(size < bound, `${size}`);
  });
}

test('a page that is no director is no success', async (t) => {
  const director = await serve(t, (req, res) => res.end('<html>hello</html>'));
  await assert.rejects(player(director.url).matchmake(duel), sdk.UnreadableError);
  await assert.rejects(player(director.url).ticket('t1').next(), sdk.UnreadableError);
  const array = await serve(t, (req, res) => answer(res, 200, ['x']));
  await assert.rejects(player(array.url).queue({}), sdk.UnreadableError);
});

test('a refusal with nonsense is a refusal', async (t) => {
  const nonsense = { code: 7, detail: 'd'.repeat(5000), errors: 'none', ticket_id: {}, servers_starting: 'many' };
  const director = await serve(t, (req, res, n) => (n === 1 ? answer(res, 418, nonsense) : res.writeHead(418).end('<html>')));
  await assert.rejects(player(director.url).matchmake(duel), (err) => {
    assert.deepEqual([err.status, err.code, err.fields, err.ticketId, err.serversStarting, err.detail.length], [418, '', [], undefined, undefined, 1000]);
    return true;
  });
  await assert.rejects(player(director.url).matchmake(duel), { status: 418, code: '', detail: '' });
});

// Pins a token that a redirect gives to another host.
test('redirects are not followed', async (t) => {
  const other = await serve(t, (req, res) => answer(res, 200, {}));
  const director = await serve(t, (req, res) => res.writeHead(307, { Location: `${other.url}/matchmake` }).end());
  await assert.rejects(player(director.url).matchmake(duel), { status: 307 });
  assert.equal(other.requests.length, 0);
});

// Pins a parser that depends on where the network cuts the stream.
test('events are the same however the stream is cut', async () => {
  const { EventParser } = await internal('sse.js');
  const whole = 'data: one\n\n: comment\r\nevent: x\r\nid: 7\r\ndata:two\r\ndata\r\ndata:  three\r\n\r\nretry: 5\rdata: four\r\r\n\ndata: é\n\nignored\n\ndata: cut';
  const want = ['one', 'two\n\n three', 'four', 'é'];
  for (let size = 1; size <= whole.length; size++) {
    const parser = new EventParser();
    const got = [];
    for (let i = 0; i < whole.length; i += size) got.push(...parser.push(whole.slice(i, i + size)));
    assert.deepEqual(got, want, `pieces of ${size}`);
  }
});

// Pins a package that grows unnoticed. Raise the budget if the growth is worth its download.
test('the package has at most 7 KiB, minified and compressed', async () => {
  const { readdir } = await import('node:fs/promises');
  const size = await compressed((await readdir(built)).filter((file) => file.endsWith('.js')));
  assert.ok(size > 1000 && size <= 7 << 10, `${size} bytes`);
});
