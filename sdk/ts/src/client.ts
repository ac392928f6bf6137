import { Cells, isElsewhere } from './cells.js';
import { isOfReplica, UnreachableError } from './errors.js';
import { documentOf, nameOf, readText, refusalOf, requestOf, type Call } from './http.js';
import { Pacer, RetryPolicy } from './pacer.js';
import { Replicas } from './replicas.js';
import { Token, type TokenSource } from './token.js';
import { Deadline, sleep } from './wait.js';

/** How a player reaches the director. Times are in milliseconds. */
export interface PlayerOptions {
  /** The base URLs of the director's replicas, such as "https://director.example". A path is kept as a prefix. */
  urls: string | readonly string[];
  /** The player's access token, or a function that returns it. Only a function can replace a token that has expired. */
  token: string | TokenSource;
  /** The build of the client, by which a valve of the login queue may be chosen: 1 to 64 characters of A-Z a-z 0-9 . _ + - */
  build?: string;
  /** Makes the requests. Default: the global fetch. */
  fetch?: typeof globalThis.fetch;
  /** Bounds one request to one replica, so that one that hangs does not hold up the call. Default 5,000. */
  attemptTimeout?: number;
  /** The first pause between attempts. Pauses double up to maxBackoff; each varies randomly by half. Defaults 250 and 30,000. */
  firstBackoff?: number;
  maxBackoff?: number;
  /** Is called before each pause, for logs and for "reconnecting…". The errors have no token and no handle. */
  onRetry?: (retry: Retry) => void;
}

/** An attempt that failed and is repeated after a pause in milliseconds. */
export interface Retry {
  readonly call: string;
  readonly error: unknown;
  readonly pause: number;
}

/** Calls the replicas for one player. Its only state is which of them failed recently, and which regions other cells serve. */
export class Client {
  private readonly replicas: Replicas;
  private readonly cells = new Cells();
  private readonly token: Token;
  private readonly fetch: typeof globalThis.fetch;
  private readonly headers: Record<string, string>;
  private readonly attemptTimeout: number;
  private readonly backoff: readonly [first: number, max: number];
  private readonly onRetry: ((retry: Retry) => void) | undefined;

  constructor(options: PlayerOptions) {
    this.replicas = new Replicas(typeof options.urls === 'string' ? [options.urls] : options.urls);
    this.token = new Token(options.token);
    this.fetch = options.fetch ?? ((input, init): Promise<Response> => globalThis.fetch(input, init)); // browsers need its `this`
    this.headers = options.build === undefined ? {} : { 'Client-Build': options.build };
    this.attemptTimeout = positive(options.attemptTimeout, 5000);
    this.backoff = [positive(options.firstBackoff, 250), positive(options.maxBackoff, 30_000)];
    this.onRetry = options.onRetry;
  }

  pacer(): Pacer {
    return new Pacer(...this.backoff);
  }

  /** Waits before the next attempt. */
  async pause(call: Call, pacer: Pacer, error: unknown, signal: AbortSignal | undefined): Promise<void> {
    pacer.after(error);
    const pause = pacer.next();
    this.onRetry?.({ call: nameOf(call), error, pause });
    await sleep(pause, signal);
  }

  /** Repeats a call until it has an answer that is not worth a retry. Rejects with the signal's reason when that aborts. */
  async call<T>(call: Call, signal: AbortSignal | undefined): Promise<T> {
    const [answer] = await this.callAt(call, signal);
    return answer as T;
  }

  /** Is `call` for a new ticket: the cell that creates it has it. */
  async createTicket(call: Call, signal: AbortSignal | undefined): Promise<unknown> {
    const [answer, cell] = await this.callAt(call, signal);
    const id = (answer as { ticket_id?: unknown }).ticket_id;
    if (cell !== undefined && typeof id === 'string') this.cells.rememberTicket(id, cell);
    return answer;
  }

  /** Is `call`, and returns the address of the cell that answered, undefined for that of the configured replicas. */
  private async callAt(call: Call, signal: AbortSignal | undefined): Promise<[answer: unknown, cell: string | undefined]> {
    const pacer = this.pacer();
    const policy = new RetryPolicy();
    const once = { refreshed: false };
    for (;;) {
      try {
        return await this.token.with(signal, once, (token) => this.reach(call, signal, (base) => this.attempt(base, call, token, signal)));
      } catch (err) {
        if (!policy.again(err)) throw err;
        await this.pause(call, pacer, err, signal);
      }
    }
  }

  /** Opens a stream of events at the next replica that answers. The caller ends it. Throws as one attempt of a call does. */
  async stream(call: Call, signal: AbortSignal | undefined): Promise<EventStream> {
    const once = { refreshed: false };
    const [stream] = await this.token.with(signal, once, (token) => this.reach(call, signal, (base) => this.open(base, call, token, signal)));
    return stream;
  }

  /**
   * Makes attempts until one is answered: at the cell that has what the call names, where the client knows it, else at the configured
   * replicas. One answer of these that another cell has it is followed. A region is asked for again when its cell is not reachable or
   * sends the client away; a ticket stays where it is.
   */
  private async reach<T>(
    call: Call,
    signal: AbortSignal | undefined,
    attempt: (base: string) => Promise<T>,
  ): Promise<[answer: T, cell: string | undefined]> {
    const known = this.cells.addressFor(call);
    if (known !== undefined) {
      try {
        return [await attempt(known), known];
      } catch (err) {
        signal?.throwIfAborted();
        if (call.ticket !== undefined || !(isOfReplica(err) || isElsewhere(err))) throw err;
        this.cells.forgetRegion(call.region);
      }
    }
    let asked = '';
    try {
      const answer = await this.tryReplicas(signal, (base) => {
        asked = base;
        return attempt(base);
      });
      return [answer, undefined];
    } catch (err) {
      const next = this.cells.follow(asked, err);
      if (next === undefined) throw err;
      return [await attempt(next), next];
    }
  }

  /** Asks each replica in turn, without a pause: one that is unreachable or shutting down says nothing about the others. */
  private async tryReplicas<T>(signal: AbortSignal | undefined, attempt: (base: string) => Promise<T>): Promise<T> {
    for (let left = this.replicas.count; ; left--) {
      const replica = this.replicas.pick(Date.now());
      try {
        return await attempt(replica.base);
      } catch (err) {
        signal?.throwIfAborted();
        if (!isOfReplica(err)) throw err;
        this.replicas.failed(replica, Date.now());
        if (left === 1) throw err;
      }
    }
  }

  private withBuild(call: Call): Call {
    return { ...call, headers: { ...call.headers, ...this.headers } };
  }

  private async attempt(base: string, call: Call, token: string, signal: AbortSignal | undefined): Promise<unknown> {
    const deadline = new Deadline(signal, this.attemptTimeout + (call.wait ?? 0));
    try {
      const [response, text] = await reached(deadline, async () => {
        const answer = await this.fetch(base + call.path, requestOf(this.withBuild(call), token, 'application/json', deadline.signal));
        return [answer, await readText(answer)] as const;
      });
      return documentOf(call, response, text);
    } finally {
      deadline.end();
    }
  }

  private async open(base: string, call: Call, token: string, signal: AbortSignal | undefined): Promise<EventStream> {
    const deadline = new Deadline(signal, this.attemptTimeout);
    try {
      const response = await reached(deadline, () => this.fetch(base + call.path, requestOf(this.withBuild(call), token, 'text/event-stream', deadline.signal)));
      if (!response.ok) throw refusalOf(call, response, await reached(deadline, () => readText(response)));
      const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') && response.body;
      if (!isStream) throw new UnreachableError('the answer is no stream of events');
      return new EventStream(response.body, deadline);
    } catch (err) {
      deadline.end();
      throw err;
    }
  }
}

/** An open stream of events. */
export class EventStream {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly decoder = new TextDecoder();

  constructor(
    body: ReadableStream<Uint8Array>,
    private readonly deadline: Deadline,
  ) {
    this.reader = body.getReader();
  }

  /** Returns the next piece of text, undefined at the end. Throws UnreachableError when nothing comes within the time. */
  async read(milliseconds: number): Promise<string | undefined> {
    this.deadline.extend(milliseconds);
    const { done, value } = await reached(this.deadline, () => this.reader.read());
    this.deadline.pause(); // the time in which the caller works on it does not count
    return done ? undefined : this.decoder.decode(value, { stream: true });
  }

  /** Closes the connection. */
  end(): void {
    this.deadline.end();
  }
}

/** Turns what the network throws into UnreachableError. The reason of the caller's signal passes. */
async function reached<T>(deadline: Deadline, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    if (deadline.aborted) throw deadline.signal.reason;
    throw new UnreachableError(deadline.expired ? 'the director did not answer in time' : 'the director is not reachable', { cause: err });
  }
}

function positive(value: number | undefined, otherwise: number): number {
  return value !== undefined && value > 0 ? value : otherwise;
}
