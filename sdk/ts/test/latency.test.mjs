import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, player, sdk, serve } from './helpers.mjs';

// Pins latencies that contain the time to connect, or that a region without an answer spoils for the others.
test('the fastest answer of each beacon counts', async (t) => {
  const near = await serve(t, (req, res) => answer(res, 404, {}));
  const far = await serve(t, (req, res, n) => setTimeout(() => answer(res, 200, {}), n === 1 ? 300 : 40));
  const silent = await serve(t, () => {});
  const gone = await serve(t, () => {});
  gone.close();
  const regions = Object.entries({ near, far, silent, gone }).map(([region, at]) => ({ region, beacon: `${at.url}/ping` }));
  const measured = await sdk.measureLatencies(regions, { samples: 3, timeout: 3000 });
  assert.deepEqual(Object.keys(measured).sort(), ['far', 'near']);
  assert.ok(Object.values(measured).every(Number.isInteger));
  assert.ok(measured.far >= 40 && measured.far < 300, `${measured.far}: the first one, which connects, does not count`);
  for (const at of [near, far]) {
    assert.deepEqual(at.requests.map((r) => r.method), Array(4).fill('HEAD'));
    assert.equal(at.requests[0].headers.authorization, undefined, 'a beacon learns nothing of the player');
  }
});

test('measuring ends with its signal', async (t) => {
  const silent = await serve(t, () => {});
  const regions = [{ region: 'eu', beacon: silent.url }];
  await assert.rejects(sdk.measureLatencies(regions, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' });
  assert.deepEqual(await sdk.measureLatencies([]), {});
});

test('a player lists the regions', async (t) => {
  const director = await serve(t, (req, res) => answer(res, 200, { regions: [{ region: 'eu', beacon: 'https://eu.example', later: 1 }] }));
  assert.deepEqual(await player(director.url).regions(), [{ region: 'eu', beacon: 'https://eu.example', later: 1 }]);
  assert.deepEqual([director.requests[0].method, director.requests[0].path], ['GET', '/regions']);
});
