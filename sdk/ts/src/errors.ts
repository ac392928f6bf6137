import type { FieldError, Problem, ProblemCode, Ticket } from './types.js';

/** A longer text of an answer is cut: what a stranger sends must not fill a log. */
const maxTextLength = 1000;

/** The director refused a call. Branch on `code`, and on `status` where `code` is empty. */
export class DirectorError extends Error {
  override readonly name = 'DirectorError';
  /** Method and path, such as "POST /matchmake". */
  readonly call: string;
  readonly status: number;
  /** The stable reason. Empty when something in between answered, such as a proxy. A newer director may send others. */
  readonly code: ProblemCode | '';
  /** The reason for people. It may change. */
  readonly detail: string;
  /** With status 400, each invalid field. */
  readonly fields: readonly FieldError[];
  /** Identifies the request in the director's log: quote it when you ask for help. */
  readonly requestId: string;
  /** Seconds that the director asks to wait; undefined if it asks for none. */
  readonly retryAfter: number | undefined;
  /**
   * With `ticket_exists` and `party_conflict`, the ticket with which the caller waits, if there is one; with `session_closed` and
   * `ticket_ended`, the one since the game server was evacuated.
   */
  readonly ticketId: string | undefined;
  /** With `session_closed`, the handle of the session in which the caller has a seat since the game server was evacuated. */
  declare readonly sessionHandle: string | undefined;
  /** With `assigned`, `matched` and `too_late`, the ticket. */
  declare readonly ticket: Ticket | undefined;
  /** With `region_elsewhere`, the region, and the address of its cell. The client follows it where it may. */
  readonly region: string;
  readonly address: string;
  /** With `not_admitted`, the caller's place in the login queue; undefined where another player of its party is not admitted. */
  readonly loginQueue: Problem['login_queue'];
  /** With `no_capacity`, how many game servers start now; undefined where the director starts none. */
  readonly serversStarting: number | undefined;

  constructor(call: string, status: number, problem: Partial<Problem> = {}, headers: Headers = new Headers()) {
    const detail = text(problem.detail) || text(problem.title);
    super([`${call}: ${status}`, text(problem.code), detail].filter(Boolean).join(' '));
    this.call = call;
    this.status = status;
    this.code = text(problem.code) as ProblemCode | '';
    this.detail = detail;
    this.fields = Array.isArray(problem.errors) ? problem.errors : [];
    this.requestId = text(headers.get('X-Request-Id'));
    this.retryAfter = parseRetryAfter(headers.get('Retry-After'), Date.now());
    this.ticketId = typeof problem.ticket_id === 'string' ? problem.ticket_id : undefined;
    // Not enumerable, so that a log of the error does not have the session handle.
    Object.defineProperty(this, 'ticket', { value: problem.ticket });
    this.region = text(problem.region);
    this.address = text(problem.address);
    this.loginQueue = typeof problem.login_queue === 'object' ? problem.login_queue : undefined;
    Object.defineProperty(this, 'sessionHandle', { value: typeof problem.session_handle === 'string' ? problem.session_handle : undefined });
    this.serversStarting = typeof problem.servers_starting === 'number' ? problem.servers_starting : undefined;
  }
}

/** No replica answered. The director may or may not have applied the call. Calls retry it, so only `onRetry` sees it. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** An answer that no director sends. A retry does not help: the address is probably another program's. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** Returns whether a retry may succeed: no replica answered, or the answer was 408, 429, 502, 503 or 504. */
export function isUnavailable(err: unknown): boolean {
  return err instanceof UnreachableError || (err instanceof DirectorError && [408, 429, 502, 503, 504].includes(err.status));
}

/** Returns whether the error concerns one replica only: it gave no answer, or is shutting down. */
export function isOfReplica(err: unknown): boolean {
  return err instanceof UnreachableError || (err instanceof DirectorError && err.code === 'draining');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, maxTextLength) : '';
}

/** Parses seconds or an HTTP date (RFC 9110, 10.2.3). Any other value counts as absent, and a past date as 0. */
export function parseRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) || !value.endsWith(' GMT') ? undefined : Math.max(0, (at - now) / 1000);
}
