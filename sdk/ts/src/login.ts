import type { Client } from './client.js';
import { DirectorError, UnreachableError, UnreadableError } from './errors.js';
import { EventParser, OversizeError } from './sse.js';
import { objectOf, type Call, type CallOptions } from './http.js';
import { RetryPolicy } from './pacer.js';
import type { LoginPlace } from './types.js';
import { sleep } from './wait.js';

/** How long a stream may send nothing, in milliseconds: the director sends a comment every 15 seconds. */
const silence = 45_000;
/** After how many streams in a row that brought no event the client polls instead. */
const streamFailures = 3;
/** How long the director waits for the admission before it answers, in seconds. */
const pollWait = 10;

/** Options of the calls about the login queue. */
export interface LoginOptions extends CallOptions {
  /** The game region that the player enters. Default: none, so that only valves of all regions count. */
  region?: string;
}

/** Options of `Player.enter`. */
export interface EnterOptions extends LoginOptions {
  /** Is called with each place in the line, and last with the admission. */
  onPlace?: (place: LoginPlace) => void;
}

/**
 * Yields the places of a player in the login queue as they change, and last its admission. The player gets a place if it has none, also
 * after it was away for so long that it lost the last one.
 */
export async function* followLogin(client: Client, options: LoginOptions): AsyncGenerator<LoginPlace, void, void> {
  const { signal } = options;
  const pacer = client.pacer();
  const policy = new RetryPolicy();
  for (let empty = 0; ; ) {
    const place = await enter(client, options);
    yield place;
    if (place.state === 'admitted') return;
    const news = empty < streamFailures ? events(client, options) : polls(client, options);
    let seen = 0;
    let failure: unknown = new UnreachableError('the stream of events has ended');
    try {
      for await (const next of news) {
        seen++;
        yield next;
        if (next.state === 'admitted') return;
      }
    } catch (err) {
      signal?.throwIfAborted();
      const isLost = err instanceof DirectorError && err.code === 'not_in_login_queue';
      if (!isLost && !policy.again(err)) throw err;
      failure = err;
    }
    empty = seen > 0 ? Math.max(0, empty - streamFailures) : empty + 1;
    if (seen > 0) pacer.reset();
    await client.pause(enterCall(options), pacer, failure, signal);
  }
}

/** Gives the place, or the admission, back. */
export async function leaveLogin(client: Client, options: LoginOptions): Promise<boolean> {
  const answer = await client.call<{ left?: boolean }>({ method: 'DELETE', path: pathOf('', options) }, options.signal);
  return answer.left === true;
}

async function enter(client: Client, options: LoginOptions): Promise<LoginPlace> {
  return checkPlace(await client.call(enterCall(options), options.signal));
}

function enterCall(options: LoginOptions): Call {
  return { method: 'POST', path: '/login-queue', body: options.region === undefined ? {} : { region: options.region } };
}

function pathOf(rest: string, options: LoginOptions, more = ''): string {
  const query = [options.region === undefined ? '' : `region=${encodeURIComponent(options.region)}`, more].filter(Boolean).join('&');
  return `/login-queue${rest}${query && `?${query}`}`;
}

async function* polls(client: Client, options: LoginOptions): AsyncGenerator<LoginPlace, void, void> {
  const call: Call = { method: 'GET', path: pathOf('', options, `wait=${pollWait}s`), wait: pollWait * 1000 };
  for (;;) {
    const asked = Date.now();
    yield checkPlace(await client.call(call, options.signal));
    if (Date.now() - asked < pollWait * 500) await sleep(1000, options.signal); // a replica that stops answers early
  }
}

async function* events(client: Client, options: LoginOptions): AsyncGenerator<LoginPlace, void, void> {
  const stream = await client.stream({ method: 'GET', path: pathOf('/events', options) }, options.signal);
  const parser = new EventParser();
  try {
    for (let text = await stream.read(silence); text !== undefined; text = await stream.read(silence)) {
      for (const data of parser.push(text)) yield checkPlace(objectOf(data));
    }
  } catch (err) {
    throw err instanceof OversizeError || err instanceof UnreadableError ? new UnreachableError('the stream of events is unreadable', { cause: err }) : err;
  } finally {
    stream.end();
  }
}

/** Returns a document as a place. Throws UnreadableError if it is none. */
function checkPlace(value: unknown): LoginPlace {
  const place = value as Partial<LoginPlace> | undefined;
  const whole = place?.state === 'admitted' || (place?.state === 'waiting' && Number.isInteger(place.position));
  if (!whole) throw new UnreadableError('the answer is no place in the login queue');
  return place as LoginPlace;
}
