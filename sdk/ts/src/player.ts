import { Client, type PlayerOptions } from './client.js';
import { DirectorError } from './errors.js';
import type { Call, CallOptions } from './http.js';
import { followLogin, leaveLogin, type EnterOptions, type LoginOptions } from './login.js';
import { QueuedTicket } from './queued.js';
import { checkTicket } from './ticket.js';
import type { Connection, GameRegion, Match, MatchRequest, Seat, Ticket, TicketRequest } from './types.js';

/** Options of `Player.seat`. */
export interface SeatOptions extends CallOptions {
  /** Also wait for the first game server of a mode, in place of throwing `mode_unknown` or `region_unknown`. */
  awaitServers?: boolean;
}

/** Options of `Player.reconnect`. */
export interface ReconnectOptions extends CallOptions {
  /** Called with each state of a ticket with which the player waits again, such as to show its place, or to accept a match. */
  onStatus?: (status: Ticket, queued: QueuedTicket) => void;
}

/** Where a player plays again, ready to connect to. */
export type Reconnection = Connection & Pick<Match, 'session_handle'>;

/** Makes the calls of one player. Calls may run at the same time. */
export class Player {
  private readonly client: Client;

  /** Throws TypeError for options that cannot work. It does not connect. */
  constructor(options: PlayerOptions) {
    this.client = new Client(options);
  }

  /**
   * Takes seats and returns their session. A repeated call before the player connects returns the same seats; a player who lost the
   * connection gets the running session back. All attempts of one call have the same Idempotency-Key. Throws DirectorError:
   * `no_capacity`, `mode_unknown`, `region_unknown`, `party_conflict`, `invalid_request`, `unauthorized`.
   */
  matchmake(request: MatchRequest, options: CallOptions = {}): Promise<Match> {
    return this.client.call({ method: 'POST', path: '/matchmake', headers: idempotent(), body: request, region: request.region }, options.signal);
  }

  /**
   * Exchanges a session handle for what the caller needs to connect. Each member of a party calls it with the handle that `matchmake`
   * returned to one of them. Throws DirectorError: `no_seat`, `session_unknown`, `session_closed`.
   */
  resolve(handle: string, options: CallOptions = {}): Promise<Connection> {
    return this.client.call(resolveCall(handle), options.signal);
  }

  /**
   * Returns where a player who lost the connection to a game server plays now: in the session of the handle, or after an evacuation
   * elsewhere, once the ticket with which the party waits again is assigned. Throws DirectorError: `no_seat`, `session_unknown`, and
   * `session_closed` where the player has nothing to follow, or the ticket left the queue without a match: ask for a match again.
   */
  async reconnect(handle: string, options: ReconnectOptions = {}): Promise<Reconnection> {
    for (;;) {
      try {
        return { ...(await this.resolve(handle, options)), session_handle: handle };
      } catch (err) {
        if (!(err instanceof DirectorError) || err.code !== 'session_closed') throw err;
        const next = err.sessionHandle ?? (err.ticketId && (await this.assignment(err.ticketId, options)));
        if (!next) throw err;
        handle = next;
      }
    }
  }

  /** Waits until a ticket has left the queue, and returns the handle of its session; undefined where it has none. */
  private async assignment(id: string, options: ReconnectOptions): Promise<string | undefined> {
    const queued = this.ticket(id);
    for await (const status of queued.watch(options)) options.onStatus?.(status, queued);
    return queued.status?.session_handle;
  }

  /** Returns a session's current state. Throws DirectorError: `session_unknown`, `session_closed`. */
  session(id: string, options: CallOptions = {}): Promise<Match> {
    return this.client.call({ method: 'GET', path: `/sessions/${encodeURIComponent(id)}` }, options.signal);
  }

  /**
   * Calls `matchmake` and then `resolve`. It starts again when the session closes or the seat expires between the two, and waits while
   * there is no capacity; while the director starts servers, as long as it asks for. Give it a signal, such as
   * `AbortSignal.timeout(60_000)`: nothing else ends that.
   */
  async seat(request: MatchRequest, options: SeatOptions = {}): Promise<Seat> {
    const pacer = this.client.pacer();
    for (;;) {
      try {
        const match = await this.matchmake(request, options);
        // What resolve returns is newer than the match, which may be a stored answer.
        return { ...match, ...(await this.client.call<Connection>({ ...resolveCall(match.session_handle), region: match.region }, options.signal)) };
      } catch (err) {
        if (!(err instanceof DirectorError) || !startsAgain(err, options)) throw err;
        if (err.serversStarting !== undefined) pacer.reset(); // the director forgets players who ask too late
        await this.client.pause(seatCall, pacer, err, options.signal);
      }
    }
  }

  /**
   * Puts the caller, or a party, into the queue. The same request again, by any member of the party, returns the same ticket. All
   * attempts of one call have the same Idempotency-Key. Throws DirectorError: `profile_unknown`, `ticket_exists`, `party_conflict`,
   * `party_too_large`, `invalid_request`, `unauthorized`.
   */
  async queue(request: TicketRequest, options: CallOptions = {}): Promise<QueuedTicket> {
    const answer = await this.client.createTicket({ method: 'POST', path: '/tickets', headers: idempotent(), body: request }, options.signal);
    const ticket = checkTicket(answer, undefined);
    return new QueuedTicket(this.client, ticket.ticket_id, ticket);
  }

  /**
   * Waits until the player is admitted, where the operator limits how fast players enter; else it returns at once. The place in the line
   * survives reconnects, reloads of a page and restarts of the director; five minutes after the last call it is lost. `matchmake`, `seat`
   * and `queue` ask for an admission as well: without this call they wait as long, and only `onRetry` sees the place.
   */
  async enter(options: EnterOptions = {}): Promise<void> {
    for await (const place of followLogin(this.client, options)) options.onPlace?.(place);
  }

  /** Gives the place in the login queue back, so that the next player enters. Returns whether there was one. */
  leaveLoginQueue(options: LoginOptions = {}): Promise<boolean> {
    return leaveLogin(this.client, options);
  }

  /** Returns the regions that have a beacon, for `measureLatencies`, or are served by another cell, at its `address`. */
  async regions(options: CallOptions = {}): Promise<GameRegion[]> {
    const answer = await this.client.call<{ regions?: GameRegion[] }>({ method: 'GET', path: '/regions' }, options.signal);
    return answer.regions ?? [];
  }

  /**
   * Returns the ticket with an id, for a member of the party that did not create it, or a page that was loaded again. A ticket of another
   * cell is known to the Player that created it; elsewhere, `queue` returns it for the same request.
   */
  ticket(id: string): QueuedTicket {
    return new QueuedTicket(this.client, id);
  }
}

const resolveCall = (handle: string): Call => ({ method: 'POST', path: '/resolve', body: { session_handle: handle } });

const seatCall: Call = { method: 'POST', path: '/matchmake' };

function startsAgain(err: DirectorError, options: SeatOptions): boolean {
  const notOffered = err.code === 'mode_unknown' || err.code === 'region_unknown';
  return ['no_capacity', 'no_seat', 'session_unknown', 'session_closed'].includes(err.code) || (notOffered && options.awaitServers === true);
}

/**
 * Returns a new key. It must differ from the caller's other keys and need not be secret: Node.js 18 has no global `crypto`, and pages of
 * insecure origins have no `crypto.randomUUID`.
 */
function idempotent(): Record<string, string> {
  const bytes = new Uint8Array(16).map(() => Math.random() * 256);
  globalThis.crypto?.getRandomValues(bytes);
  return { 'Idempotency-Key': Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('') };
}
