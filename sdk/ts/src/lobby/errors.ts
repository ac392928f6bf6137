/** What a refusal says, as the wire has it. */
export interface Refusal {
  readonly error?: unknown;
  readonly reason?: unknown;
  readonly code?: unknown;
  readonly hint?: unknown;
  readonly field?: unknown;
  readonly retry_after_ms?: unknown;
  readonly address?: unknown;
}

/** A longer text is cut: what a stranger sends must not fill a log. */
const maxTextLength = 1000;

/** The director refused a request, a message or the handshake. Branch on `code`. */
export class LobbyError extends Error {
  override readonly name = 'LobbyError';
  /** The type of the request, such as "room.join_or_create", with that of its message; "handshake". */
  readonly call: string;
  /** The stable reason, such as "room_full". A newer director may send others. */
  readonly code: string;
  /** The reason for people. It may change. */
  readonly detail: string;
  /** What a program can do about it; may be empty. */
  readonly hint: string;
  /** With the code `invalid`, the field. */
  readonly field: string;
  /** Milliseconds that the director asks to wait; 0 if it asks for none. */
  readonly retryAfter: number;
  /** With the code `region_elsewhere`, the address of the lobby that has the project. The client follows it. */
  readonly address: string;

  constructor(call: string, refusal: Refusal) {
    const detail = text(refusal.error) || text(refusal.reason);
    const hint = text(refusal.hint);
    super(`${call}: ${detail} (${text(refusal.code)})${hint && `: ${hint}`}`);
    this.call = call;
    this.code = text(refusal.code);
    this.detail = detail;
    this.hint = hint;
    this.field = text(refusal.field);
    this.retryAfter = typeof refusal.retry_after_ms === 'number' ? Math.max(0, refusal.retry_after_ms) : 0;
    this.address = text(refusal.address);
  }
}

/** The connection ended before the answer arrived: the request may have been carried out or not. The state of the room says which. */
export class UncertainError extends Error {
  override readonly name = 'UncertainError';

  constructor(readonly call: string) {
    super(`${call}: the connection ended before the answer: look at the state of the room, then repeat it if it is still needed`);
  }
}

/** Why a client has ended: it was closed, or another client uses its session. */
export class EndedError extends Error {
  override readonly name = 'EndedError';
}

/** No connection, or not for long enough. The client connects again. */
export class DisconnectedError extends Error {
  override readonly name = 'DisconnectedError';

  constructor(
    /** The close code of the WebSocket; 1006: none. */
    readonly code: number,
    readonly reason: string,
  ) {
    super(`the connection to the lobby has ended (${code}${reason && ` ${reason}`})`);
  }
}

/** Returns whether a request that may be carried out twice is worth a repetition. */
export function isRepeatable(err: unknown): boolean {
  return err instanceof UncertainError || isCode(err, 'unavailable', 'rate_limited');
}

export function isCode(err: unknown, ...codes: string[]): boolean {
  return err instanceof LobbyError && codes.includes(err.code);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, maxTextLength) : '';
}
