import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, collect, player, refuse, serve, stream, text, ticket } from './helpers.mjs';

// Pins lost and repeated states where a stream breaks: a new one begins with the current state.
test('a broken stream continues after the last state, at the other replica', async (t) => {
  const resumed = [];
  const scripts = [
    [ticket(1), ticket(2, 'accepting')],
    [ticket(2, 'accepting'), ticket(3), ticket(3, 'queued', { step: { rule: 'near', within: 2 } })],
    [ticket(1), ticket(3, 'queued', { step: { rule: 'near', within: 2 } }), ticket(4, 'assigned')],
  ];
  const handler = (req, res) => {
    resumed.push(req.headers['last-event-id']);
    stream(res, ...scripts.shift());
    res.end();
  };
  const [a, b] = [await serve(t, handler), await serve(t, handler)];
  assert.deepEqual(await collect(player([a.url, b.url]).ticket('t1').watch()), ['queued 1', 'accepting 2', 'queued 3', 'queued 3', 'assigned 4']);
  assert.deepEqual(resumed, [undefined, '2', '3']);
  assert.ok(a.requests.length > 0 && b.requests.length > 0);
});

test('the first state of a watch is the current one, also after queue', async (t) => {
  const director = await serve(t, (req, res) => (req.method === 'POST' ? answer(res, 201, ticket(1)) : stream(res, text(ticket(1)), text(ticket(2, 'cancelled')))));
  const queued = await player(director.url).queue({ profiles: ['ranked'] });
  assert.deepEqual([queued.id, queued.status.version], ['t1', 1]);
  assert.deepEqual(await collect(queued.watch()), ['queued 1', 'cancelled 2']);
  assert.equal(director.requests[1].headers['last-event-id'], '1');
  assert.deepEqual(await collect(queued.watch()), ['cancelled 2'], 'a final state is known');
  assert.equal((await queued.next()).state, 'cancelled');
  assert.equal(director.requests.length, 2);
});

test('a read beside a watch hides no state', async (t) => {
  let open;
  const director = await serve(t, (req, res) => (req.url.endsWith('/events') ? stream(res, text(ticket(1)), ...((open = res), [])) : answer(res, 200, ticket(2, 'accepting', { place: 1 }))));
  const queued = player(director.url).ticket('t1');
  const states = queued.watch();
  await states.next();
  assert.equal((await queued.read()).version, 2);
  open.write(text(ticket(2, 'accepting')));
  assert.equal((await states.next()).value.version, 2);
  await states.return();
});

// Pins a client that hangs behind a proxy that buffers streams.
const useless = {
  'never answers': () => {},
  'ends at once': (res) => (stream(res), res.end()),
  'is no stream': (res) => res.end('<html>'),
  'has garbage': (res) => stream(res, 'data: {"ticket_id":\n\n'),
  'has another ticket': (res) => stream(res, text({ ...ticket(1), ticket_id: 't2' })),
  'has no ticket': (res) => stream(res, 'data: [1]\n\n'),
};
for (const [name, useless_] of Object.entries(useless)) {
  test(`polls where a stream ${name}`, async (t) => {
    const director = await serve(t, (req, res) => {
      if (req.url.endsWith('/events')) return useless_(res);
      const version = 1 + Number(new URL(req.url, 'http://director').searchParams.get('version')); // a repeated poll gets the same
      return answer(res, 200, ticket(version, version < 3 ? 'queued' : 'assigned'));
    });
    assert.deepEqual(await collect(player(director.url, { attemptTimeout: 500 }).ticket('t1').watch()), ['queued 1', 'queued 2', 'assigned 3']);
    const polls = new Set(director.requests.map((r) => r.path).filter((path) => !path.endsWith('/events')));
    assert.deepEqual([...polls], ['/tickets/t1', '/tickets/t1?wait=25s&version=1', '/tickets/t1?wait=25s&version=2']);
    assert.equal(director.requests.filter((r) => r.path.endsWith('/events')).length, 3);
  });
}

// Pins a stream that is silent because the network is gone, which TCP does not notice.
test('a silent stream is replaced', async (t) => {
  const director = await serve(t, (req, res, n) => stream(res, text(n === 1 ? ticket(1) : ticket(2, 'assigned'))));
  const states = player(director.url).ticket('t1').watch();
  await states.next();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const next = states.next();
  const tick = setInterval(() => t.mock.timers.tick(46_000), 300); // each attempt has this time, since its timeout is mocked as well
  t.after(() => clearInterval(tick));
  assert.equal((await next).value.version, 2);
});

test('next polls until the state changes, with pauses where a replica answers early', async (t) => {
  const director = await serve(t, (req, res, n) => answer(res, 200, ticket(n < 4 ? 1 : 2, n < 4 ? 'queued' : 'assigned')));
  const queued = player(director.url).ticket('t1');
  assert.equal((await queued.next()).version, 1);
  assert.equal((await queued.next()).version, 2);
  assert.equal(director.requests.length, 4);
});

test('refusals end a watch', async (t) => {
  const director = await serve(t, (req, res) => refuse(res, 410, 'ticket_ended'));
  await assert.rejects(collect(player(director.url).ticket('t/1').watch()), { code: 'ticket_ended', call: 'GET /tickets/t%2F1/events' });
  assert.equal(director.requests.length, 1);
});

test('accept, decline and cancel', async (t) => {
  const director = await serve(t, (req, res, n) => (n === 1 ? res.destroy() : answer(res, 200, ticket(1))));
  const queued = player(director.url).ticket('t1');
  for (const change of ['accept', 'decline']) assert.equal((await queued[change]('m1')).version, 1);
  assert.equal((await queued.cancel()).version, 1);
  assert.deepEqual(director.requests.map((r) => `${r.method} ${r.path}`), ['POST /tickets/t1/accept', 'POST /tickets/t1/accept', 'POST /tickets/t1/decline', 'DELETE /tickets/t1']);
  assert.deepEqual(director.requests.map((r) => r.body), ['{"match_id":"m1"}', '{"match_id":"m1"}', '{"match_id":"m1"}', '']);
  await assert.rejects(queued.accept(), TypeError);
});
