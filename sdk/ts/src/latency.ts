import type { GameRegion } from './types.js';
import { Deadline } from './wait.js';

/** Options of `measureLatencies`. */
export interface MeasureOptions {
  /** How often each beacon is fetched and timed, after a first time that makes the connection. Default 4. */
  samples?: number;
  /** Milliseconds for all of it. What is measured by then counts. Default 4000. */
  timeout?: number;
  /** Ends all of it: the promise is then rejected with its reason. */
  signal?: AbortSignal;
  /** The `fetch` to use. Default `globalThis.fetch`. */
  fetch?: typeof fetch;
}

/**
 * Measures the latency to game regions, and returns whole milliseconds by region, as `latencies` of a ticket takes them: of each beacon
 * the fastest fetch on a connection that is open. Regions without a beacon, and those whose beacon does not answer in time are left out. All regions are measured at
 * the same time, so measure before the game downloads anything.
 *
 *     const latencies = await measureLatencies(await player.regions());
 *     await player.queue({ profiles: ['ranked-5v5'], latencies });
 */
export async function measureLatencies(regions: readonly GameRegion[], options: MeasureOptions = {}): Promise<Record<string, number>> {
  const deadline = new Deadline(options.signal, options.timeout ?? 4000);
  try {
    const measured = await Promise.all(
      regions.map(async ({ region, beacon }) => [region, beacon === undefined ? undefined : await measure(beacon, options, deadline.signal)] as const),
    );
    options.signal?.throwIfAborted();
    return Object.fromEntries(measured.flatMap(([region, ms]) => (ms === undefined ? [] : [[region, ms]])));
  } finally {
    deadline.end();
  }
}

const longest = 10_000; // milliseconds, as tickets take them

/** Returns the least of the timed fetches, undefined if there is none. */
async function measure(beacon: string, options: MeasureOptions, signal: AbortSignal): Promise<number | undefined> {
  let least: number | undefined;
  try {
    await timed(beacon, options, signal); // makes the connection, which takes several round trips
    for (let i = 0; i < (options.samples ?? 4); i++) {
      least = Math.min(least ?? longest, await timed(beacon, options, signal));
    }
  } catch {
    // What is measured counts. A beacon that refuses, or is too slow, ends its measurement.
  }
  return least === undefined ? undefined : Math.ceil(least);
}

async function timed(beacon: string, options: MeasureOptions, signal: AbortSignal): Promise<number> {
  const begun = performance.now();
  // Only the time counts: a beacon need not allow pages of other origins to read its answer, and no answer has a body.
  await (options.fetch ?? fetch)(beacon, { method: 'HEAD', mode: 'no-cors', cache: 'no-store', credentials: 'omit', signal });
  return performance.now() - begun;
}
