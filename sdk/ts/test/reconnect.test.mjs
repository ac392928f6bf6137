import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, player, refuse, serve, stream, text, ticket } from './helpers.mjs';

/** A director whose session eu.h1 was evacuated: `moved` says where the player went. */
async function evacuated(t, moved, ...states) {
  const director = await serve(t, (req, res, n) => {
    if (req.url.endsWith('/events')) return stream(res, ...states.map(text));
    const { session_handle: handle } = JSON.parse(director.requests[n - 1].body);
    if (handle === 'us.h2') return answer(res, 200, { endpoint: '203.0.113.9:7777', session_token: 'token', session_id: 'us.s2' });
    refuse(res, 410, 'session_closed', {}, moved);
  });
  return director;
}

// Pins players of a lost region who ask for a match anew although they have a place in the queue.
test('reconnect waits with the ticket of the party', async (t) => {
  const director = await evacuated(t, { ticket_id: 't1' }, ticket(1, 'queued', { place: 3 }), ticket(2, 'assigned', { session_handle: 'us.h2' }));
  const seen = [];
  const got = await player(director.url).reconnect('eu.h1', { onStatus: (status, queued) => seen.push([queued.id, status.state, status.place]) });
  assert.deepEqual(got, { endpoint: '203.0.113.9:7777', session_token: 'token', session_id: 'us.s2', session_handle: 'us.h2' });
  assert.deepEqual(seen, [['t1', 'queued', 3], ['t1', 'assigned', undefined]]);
});

test('reconnect resolves the seat elsewhere', async (t) => {
  const director = await evacuated(t, { session_handle: 'us.h2' });
  assert.equal((await player(director.url).reconnect('eu.h1')).session_id, 'us.s2');
  assert.equal((await player(director.url).reconnect('us.h2')).session_handle, 'us.h2');
});

test('reconnect ends where there is nothing to follow', async (t) => {
  for (const [moved, ...states] of [[{}], [{ ticket_id: 't1' }, ticket(2, 'expired', { reason: 'client_gone' })]]) {
    const director = await evacuated(t, moved, ...states);
    await assert.rejects(player(director.url).reconnect('eu.h1'), { code: 'session_closed' });
  }
});

test('an error shows no handle', async (t) => {
  const director = await evacuated(t, { session_handle: 'us.h2' });
  await assert.rejects(player(director.url).resolve('eu.h1'), (err) => {
    assert.equal(err.sessionHandle, 'us.h2');
    assert.doesNotMatch(JSON.stringify(err), /us\.h2/);
    return true;
  });
});
