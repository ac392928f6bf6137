import type { Client } from './client.js';
import { UnreachableError, UnreadableError } from './errors.js';
import { objectOf, type Call, type CallOptions } from './http.js';
import { RetryPolicy } from './pacer.js';
import { EventParser, OversizeError } from './sse.js';
import { checkTicket } from './ticket.js';
import { isFinal, type Ticket } from './types.js';

/** How long a stream may send nothing, in milliseconds: the director sends a comment every 15 seconds. */
const silence = 45_000;
/** After how many streams in a row that brought no event the client polls instead. */
const streamFailures = 3;
/** After which life of a stream, in milliseconds, the next failure counts as the first. */
const steady = 10_000;

/** A ticket whose states are followed. */
export interface FollowedTicket {
  readonly id: string;
  /** The last state that is known; undefined: none. */
  status: Ticket | undefined;
  read(options: CallOptions): Promise<Ticket>;
  next(options: CallOptions): Promise<Ticket>;
}

/** Yields the states of a ticket until a final one, and keeps its status. */
export async function* follow(ticket: FollowedTicket, client: Client, signal: AbortSignal | undefined): AsyncGenerator<Ticket, void, void> {
  const known = ticket.status;
  if (known && isFinal(known.state)) return yield known;
  const news = new News(ticket);
  const pacer = client.pacer();
  const policy = new RetryPolicy();
  for (let empty = 0; empty < streamFailures; ) {
    const call = callOf(ticket);
    const opened = Date.now();
    const seen = news.seen;
    let failure: unknown = new UnreachableError('the stream of events has ended');
    try {
      for await (const state of events(ticket.id, client, call, signal)) {
        if (news.take(state)) yield state;
        if (isFinal(state.state)) return;
      }
    } catch (err) {
      signal?.throwIfAborted();
      if (!policy.again(err)) throw err;
      failure = err;
    }
    empty = news.seen > seen ? 0 : empty + 1;
    if (news.seen > seen && Date.now() - opened >= steady) pacer.reset();
    await client.pause(call, pacer, failure, signal);
  }
  yield* poll(ticket, news, signal);
}

async function* poll(ticket: FollowedTicket, news: News, signal: AbortSignal | undefined): AsyncGenerator<Ticket, void, void> {
  const options = signal ? { signal } : {};
  for (let state = await ticket.read(options); ; state = await ticket.next(options)) {
    if (news.take(state)) yield state;
    if (isFinal(state.state)) return;
  }
}

/** Decides which states the program has not seen: a new stream begins with the current one. */
class News {
  /** Counts the states that arrived, also those that are no news. */
  seen = 0;
  private last: Ticket | undefined;

  constructor(private readonly ticket: FollowedTicket) {}

  take(state: Ticket): boolean {
    this.seen++;
    const { last } = this;
    if (last && (state.version < last.version || same(state, last))) return false;
    this.last = state;
    this.ticket.status = state;
    return true;
  }
}

function same(a: Ticket, b: Ticket): boolean {
  return a.version === b.version && a.state === b.state && JSON.stringify(a.step) === JSON.stringify(b.step);
}

function callOf(ticket: FollowedTicket): Call {
  const headers: Record<string, string> = ticket.status ? { 'Last-Event-ID': String(ticket.status.version) } : {};
  return { method: 'GET', path: `/tickets/${encodeURIComponent(ticket.id)}/events`, headers, ticket: ticket.id };
}

/** Yields the events of one stream. Throws UnreachableError for a stream that breaks, is silent, or sends what no director sends. */
async function* events(id: string, client: Client, call: Call, signal: AbortSignal | undefined): AsyncGenerator<Ticket, void, void> {
  const stream = await client.stream(call, signal);
  const parser = new EventParser();
  try {
    for (let text = await stream.read(silence); text !== undefined; text = await stream.read(silence)) {
      for (const data of parser.push(text)) yield checkTicket(objectOf(data), id);
    }
  } catch (err) {
    // Another replica, or a poll, may be readable.
    throw err instanceof OversizeError || err instanceof UnreadableError ? new UnreachableError('the stream of events is unreadable', { cause: err }) : err;
  } finally {
    stream.end();
  }
}
