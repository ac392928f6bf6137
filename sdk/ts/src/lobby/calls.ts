import { abortable } from '../wait.js';
import { LobbyError, UncertainError, type Refusal } from './errors.js';
import type { Socket } from './socket.js';

interface Pending {
  readonly call: string;
  resolve(answer: Record<string, unknown>): void;
  reject(err: Error): void;
}

/** The requests of a client that have no answer yet. */
export class Calls {
  private readonly pending = new Map<string, Pending>();
  private last = 0;

  /** Makes a request over a connection. Throws LobbyError, UncertainError, and the signal's reason. */
  async make(socket: Socket, type: string, room: string | undefined, p: object, signal: AbortSignal | undefined): Promise<Record<string, unknown>> {
    signal?.throwIfAborted();
    const rid = String(++this.last);
    const call = 'type' in p ? `${type} ${String(p.type)}` : type;
    const answer = new Promise<Record<string, unknown>>((resolve, reject) => this.pending.set(rid, { call, resolve, reject }));
    try {
      socket.send({ t: type, rid, p, ...(room === undefined ? {} : { room }) });
      return await abortable(answer, signal);
    } finally {
      this.pending.delete(rid);
    }
  }

  take(rid: string | undefined, p: unknown): void {
    const waiting = this.pending.get(rid ?? '');
    const answer = p as Record<string, unknown> | undefined;
    if (answer?.['ok'] === true) waiting?.resolve(answer);
    else waiting?.reject(new LobbyError(waiting.call, (answer ?? {}) as Refusal));
  }

  /** Ends all: their connection has ended. */
  drop(): void {
    for (const { call, reject } of this.pending.values()) reject(new UncertainError(call));
    this.pending.clear();
  }
}
