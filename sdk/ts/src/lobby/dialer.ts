import { Pacer } from '../pacer.js';
import { baseURL, Replicas } from '../replicas.js';
import type { TokenSource } from '../token.js';
import { abortable, sleep } from '../wait.js';
import { DisconnectedError, EndedError, isCode, LobbyError } from './errors.js';
import { Socket, type Frame, type WebSocketClass } from './socket.js';

/** How a client reaches the lobby. Times are in milliseconds. */
export interface LobbyOptions {
  /** The WebSocket URLs of the replicas, such as "wss://lobby.example:4000". */
  urls: string | readonly string[];
  /** The player's token, which the game's backend minted, or a function that returns it. Only a function can replace a refused one. */
  token: string | TokenSource;
  /** The project of a client without a token, where the director allows that. */
  project?: string;
  /** The session of a former client, such as that of the page before it was loaded again, to resume it. */
  session?: string;
  /** Makes the connections. Default: the global WebSocket, which Node.js has from version 22 on. */
  WebSocket?: WebSocketClass;
  /** Bounds the connection to one replica with its handshake. Default 5,000. */
  attemptTimeout?: number;
  /** The first pause between attempts. Pauses double up to maxBackoff; each varies randomly by half. Defaults 250 and 3,000. */
  firstBackoff?: number;
  maxBackoff?: number;
}

/** The life of a connection after which the next failure counts as the first. */
const steady = 10_000;
/** How many connections in a row may be taken over soon: a replica that was frozen closes them with the same code. */
const maxTakeovers = 3;
const superseded = 4409;

/** Opens connections to the replicas by turns. */
export class Dialer {
  private readonly replicas: Replicas;
  private readonly pacer: Pacer;
  private readonly make: WebSocketClass;
  readonly #token: string | TokenSource; // hidden from console.log
  private takeovers = 0;
  /** The cell that accepted the client last: it needs no other one while it plays. */
  private cell: string | undefined;

  constructor(
    private readonly options: LobbyOptions,
    private readonly onFrame: (frame: Frame) => void,
  ) {
    this.replicas = new Replicas(typeof options.urls === 'string' ? [options.urls] : options.urls, 'ws');
    this.pacer = new Pacer(options.firstBackoff ?? 250, options.maxBackoff ?? 3000);
    this.#token = options.token;
    const make = options.WebSocket ?? globalThis.WebSocket;
    if (!make) throw new TypeError('WebSocket: this runtime has none; Node.js has it from version 22 on, else give its class');
    this.make = make;
  }

  /** Connects with a session. Throws LobbyError for what a retry cannot change, and the signal's reason. */
  async connect(session: string | undefined, signal: AbortSignal | undefined): Promise<Socket> {
    const attempt: Attempt = { session, signal, refresh: false };
    for (;;) {
      const socket = (await this.openCell(attempt)) ?? (await this.openReplica(attempt));
      if (socket) return socket;
      await this.pause(signal);
    }
  }

  private async openCell(attempt: Attempt): Promise<Socket | undefined> {
    const { cell } = this;
    this.cell = undefined;
    if (cell === undefined) return undefined;
    const outcome = await this.open(cell, attempt);
    if (!(outcome instanceof Socket)) return undefined;
    this.cell = cell;
    return outcome;
  }

  /**
   * Connects to a configured replica, or to the cell that it names. What another cell names is not followed: nobody else can name an
   * address to which the token is sent, and two cells that name each other make no loop.
   */
  private async openReplica(attempt: Attempt): Promise<Socket | undefined> {
    for (let left = this.replicas.count; left > 0; left--) {
      const replica = this.replicas.pick(Date.now());
      const outcome = await this.open(replica.base, attempt);
      if (outcome instanceof Socket) return outcome;
      const cell = cellAddress(outcome, replica.base);
      const there = cell === undefined ? undefined : await this.open(cell, attempt);
      if (there instanceof Socket) {
        this.cell = cell;
        return there;
      }
      if (!isTokenRefused(outcome)) this.replicas.failed(replica, Date.now());
    }
    return undefined;
  }

  /** Connects to an address. Returns the error after which another attempt may succeed, and throws the others. */
  private async open(base: string, attempt: Attempt): Promise<unknown> {
    const { session, signal, refresh } = attempt;
    try {
      const hello = { token: await this.token(refresh, signal), project_id: this.options.project, session_id: session };
      return await Socket.open(this.make, base, hello, this.options.attemptTimeout ?? 5000, this.onFrame, signal);
    } catch (err) {
      signal?.throwIfAborted();
      const refused = isTokenRefused(err);
      if (isFinal(err) || (refused && (refresh || typeof this.#token === 'string'))) throw err;
      attempt.refresh ||= refused;
      return err;
    }
  }

  /** Waits before the next attempt: with jitter, since others have lost the same replica. */
  pause(signal: AbortSignal | undefined): Promise<void> {
    return sleep(this.pacer.next(), signal);
  }

  /** Judges the life of a connection that has ended. Throws EndedError when others take it over again and again. */
  noteEnd(socket: Socket, why: DisconnectedError): void {
    this.replicas.failedAt(socket.url, Date.now());
    const isSteady = Date.now() - socket.opened >= steady;
    if (isSteady) this.pacer.reset();
    this.takeovers = isSteady || why.code !== superseded ? 0 : this.takeovers + 1;
    if (this.takeovers >= maxTakeovers) throw new EndedError('another client took the session over: give each client a session of its own');
  }

  private async token(refresh: boolean, signal: AbortSignal | undefined): Promise<string> {
    const source = this.#token;
    return typeof source === 'string' ? source : abortable(Promise.resolve(source({ refresh })), signal);
  }
}

/** What attempts to connect share; refresh: the token was refused. */
interface Attempt {
  readonly session: string | undefined;
  readonly signal: AbortSignal | undefined;
  refresh: boolean;
}

function isTokenRefused(err: unknown): boolean {
  return isCode(err, 'token_refused', 'key_refused');
}

/** Returns the address that a refused handshake names. A token that was sent by TLS is not sent in plain text. */
function cellAddress(err: unknown, asked: string): string | undefined {
  if (!(err instanceof LobbyError) || err.code !== 'region_elsewhere') return undefined;
  try {
    const address = baseURL(err.address, 'ws');
    return address.startsWith('wss:') || asked.startsWith('ws:') ? address : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a retry cannot help: no replica accepts such a handshake, or the source of the token has thrown. */
function isFinal(err: unknown): boolean {
  if (err instanceof LobbyError) return isCode(err, 'bad_frame', 'unsupported_version', 'unsupported_codec');
  return !(err instanceof DisconnectedError);
}
