import { abortable, Deadline } from '../wait.js';
import { DisconnectedError, LobbyError, type Refusal } from './errors.js';

/** After how much silence a connection is probed, and how long the answer may take, in milliseconds. */
const silence = 25_000;
const probe = 10_000;

/** A message in both directions. */
export interface Frame {
  readonly t: string;
  readonly rid?: string;
  readonly room?: string;
  readonly p?: unknown;
}

/** What the first frame of a client says. */
export interface Hello {
  readonly token: string;
  readonly project_id?: string | undefined;
  readonly session_id?: string | undefined;
}

/** What the answer to it says. */
export interface Welcome {
  readonly session_id: string;
  readonly resumed: boolean;
}

/** The class of the WebSocket: that of browsers and of Node.js 22, or one with the same methods. */
export type WebSocketClass = new (url: string) => WebSocket;

/** A WebSocket whose handshake was accepted. */
export class Socket {
  /** Resolves when the connection has ended. */
  readonly ended: Promise<DisconnectedError>;
  readonly opened = Date.now();
  private end!: (why: DisconnectedError) => void;
  private timer: ReturnType<typeof setTimeout> | undefined;

  private constructor(
    private readonly socket: WebSocket,
    readonly url: string,
    readonly welcome: Welcome,
    private readonly early: readonly unknown[],
    private readonly onFrame: (frame: Frame) => void,
  ) {
    this.ended = new Promise((resolve) => (this.end = resolve));
    socket.onclose = ({ code, reason }): void => this.stop(code, reason);
    this.watch();
  }

  /** Connects to a replica. Throws LobbyError for a refused handshake, DisconnectedError, and the signal's reason. */
  static async open(make: WebSocketClass, url: string, hello: Hello, timeout: number, onFrame: (frame: Frame) => void, signal: AbortSignal | undefined): Promise<Socket> {
    const deadline = new Deadline(signal, timeout);
    const socket = new make(url);
    try {
      const early: unknown[] = [];
      const welcome = await abortable(shakeHands(socket, hello, early), deadline.signal);
      return new Socket(socket, url, welcome, early, onFrame);
    } catch (err) {
      socket.close();
      if (deadline.aborted) throw signal?.reason;
      throw deadline.expired ? new DisconnectedError(1006, 'no handshake in time') : err;
    } finally {
      deadline.end();
    }
  }

  /** Begins to take frames: first those that have arrived in one piece with the answer to the handshake. */
  start(): void {
    this.socket.onmessage = ({ data }): void => this.take(data);
    for (const data of this.early) this.take(data);
  }

  send(frame: Frame): void {
    this.socket.send(JSON.stringify({ v: 1, ...frame }));
  }

  /** Ends the connection at once: a dead one may take minutes to close. */
  stop(code = 1000, reason = ''): void {
    clearTimeout(this.timer);
    this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
    this.end(new DisconnectedError(code, reason));
  }

  private take(data: unknown): void {
    this.watch();
    const frame = frameOf(data);
    if (frame) this.onFrame(frame);
  }

  /** Begins the time of silence anew. Browsers show no pings, so a dead connection is found by a question. */
  private watch(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.send({ t: 'echo', rid: 'probe', p: {} });
      this.timer = setTimeout(() => this.stop(1006, 'silence'), probe);
    }, silence);
  }
}

/** Sends the first frame and returns what the answer says. What arrives behind it is kept. */
function shakeHands(socket: WebSocket, hello: Hello, early: unknown[]): Promise<Welcome> {
  return new Promise((resolve, reject) => {
    socket.onopen = (): void => socket.send(JSON.stringify({ v: 1, codecs: ['json'], ...hello }));
    socket.onclose = ({ code, reason }): void => reject(new DisconnectedError(code, reason));
    socket.onerror = (): void => {}; // the close follows
    socket.onmessage = ({ data }): void => {
      const frame = frameOf(data);
      const p = frame?.p as (Partial<Welcome> & Refusal) | undefined;
      if (frame?.t === 'error') return reject(new LobbyError('handshake', p ?? {}));
      if (frame?.t !== 'handshake.ok' || typeof p?.session_id !== 'string') return reject(new DisconnectedError(1002, 'not a director'));
      socket.onmessage = (next): void => void early.push(next.data);
      resolve({ session_id: p.session_id, resumed: p.resumed === true });
    };
  });
}

function frameOf(data: unknown): Frame | undefined {
  if (typeof data !== 'string') return undefined;
  try {
    const frame = JSON.parse(data) as Frame | null;
    return typeof frame?.t === 'string' ? frame : undefined;
  } catch {
    return undefined;
  }
}
