import type { Client } from './client.js';
import { follow } from './follow.js';
import type { Call, CallOptions } from './http.js';
import { checkTicket } from './ticket.js';
import { isFinal, type Ticket } from './types.js';
import { sleep } from './wait.js';

/** How long the director waits for a change before it answers, in seconds. */
const pollWait = 25;

/**
 * A ticket in the queue. It stays there while one of its players calls `next`, `read` or `watch`; 30 seconds after the last of these
 * calls it expires. At most one `next` or `watch` may run at a time; the other methods may run beside it.
 */
export class QueuedTicket {
  /** The last state that `queue`, `next` or `watch` received; undefined before the first. */
  status: Ticket | undefined;

  /** Use `Player.queue` or `Player.ticket`. */
  constructor(
    private readonly client: Client,
    /** The ticket's id, which the members of a party send each other. */
    readonly id: string,
    status?: Ticket,
  ) {
    this.status = status;
  }

  /**
   * The ticket's states: the current one first or, after `next` or an earlier `watch`, those that the program has missed. A waiting
   * ticket comes again when one of its rules widens. The iteration ends after a final state. It follows a stream of events and, where a
   * stream breaks, connects again without a loss, also to another replica. Where streams bring nothing, as behind a proxy that buffers
   * answers, it polls. Throws DirectorError for what a retry cannot change, and the signal's reason.
   */
  watch(options: CallOptions = {}): AsyncGenerator<Ticket, void, void> {
    return follow(this, this.client, options.signal);
  }

  /**
   * Waits until the ticket enters another state than `status`, and returns it. Without a `status` it returns the current state, and
   * after a final one that again. Throws DirectorError: `ticket_unknown`, `ticket_ended` some minutes after the ticket left.
   */
  async next(options: CallOptions = {}): Promise<Ticket> {
    const known = this.status;
    if (known && isFinal(known.state)) return known;
    const pacer = this.client.pacer();
    for (;;) {
      const asked = Date.now();
      const call: Call = { method: 'GET', path: `${this.path}?wait=${pollWait}s&version=${known?.version ?? 0}`, wait: pollWait * 1000 };
      const status = await this.ask(call, options.signal);
      this.status = status;
      if (!known || status.version !== known.version || status.state !== known.state) return status;
      if (Date.now() - asked >= pollWait * 500) pacer.reset();
      else await sleep(pacer.next(), options.signal); // a replica that stops answers early
    }
  }

  /** Reads the ticket now, such as for its `place` and `estimate`, which change without a new state. It does not change `status`. */
  read(options: CallOptions = {}): Promise<Ticket> {
    return this.ask({ method: 'GET', path: this.path }, options.signal);
  }

  /**
   * Takes the ticket out of the queue for the whole party. The answer holds: a ticket that was cancelled is in no match. While players
   * are asked, it declines the match for the caller. Throws DirectorError: `assigned`, `matched` and `too_late` when it is too late.
   */
  cancel(options: CallOptions = {}): Promise<Ticket> {
    return this.ask({ method: 'DELETE', path: this.path }, options.signal);
  }

  /**
   * Accepts a match for the caller. `matchId` is the `match_id` of the status in which the player was asked: the ticket may be in another
   * match when the player answers. Throws DirectorError: `too_late`, also for another match.
   */
  accept(matchId: string, options: CallOptions = {}): Promise<Ticket> {
    return this.answer('accept', matchId, options);
  }

  /** Declines a match; the caller's party leaves the queue. `matchId` is as that of `accept`. Throws DirectorError: `too_late`. */
  decline(matchId: string, options: CallOptions = {}): Promise<Ticket> {
    return this.answer('decline', matchId, options);
  }

  private async answer(answer: 'accept' | 'decline', matchId: string, options: CallOptions): Promise<Ticket> {
    if (typeof matchId !== 'string') throw new TypeError(`${answer} needs the match_id of the status in which the player was asked`);
    return this.ask({ method: 'POST', path: `${this.path}/${answer}`, body: { match_id: matchId } }, options.signal);
  }

  private get path(): string {
    return `/tickets/${encodeURIComponent(this.id)}`;
  }

  private async ask(call: Call, signal: AbortSignal | undefined): Promise<Ticket> {
    return checkTicket(await this.client.call({ ...call, ticket: this.id }, signal), this.id);
  }
}
