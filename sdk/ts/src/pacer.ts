import { DirectorError, isUnavailable } from './errors.js';

/** Caps the pause that a `Retry-After` can cause, so that a misconfigured proxy cannot stop a player for a day. In seconds. */
const maxRetryAfter = 60;

/**
 * Says how long to wait before the next attempt, in milliseconds: a backoff that doubles and varies randomly by half, plus the last
 * answer's `Retry-After`. The sum and not the larger one: otherwise all clients that got "Retry-After: 2" would return together.
 */
export class Pacer {
  private interval: number;
  private askedFor = 0;

  constructor(
    private readonly first: number,
    private readonly max: number,
  ) {
    this.interval = first;
  }

  after(err: unknown): void {
    this.askedFor = 0;
    if (!(err instanceof DirectorError)) return;
    const least = err.code === 'no_capacity' ? 1 : 0; // capacity does not come back within a moment
    this.askedFor = Math.min(err.retryAfter ?? least, maxRetryAfter) * 1000;
  }

  next(): number {
    const pause = this.interval * (0.5 + Math.random());
    this.interval = Math.min(2 * this.interval, this.max);
    return this.askedFor + pause;
  }

  reset(): void {
    this.interval = this.first;
  }
}

/** Decides whether a call is repeated. One for each call, because an internal error is repeated once. */
export class RetryPolicy {
  private internal = 0;

  again(err: unknown): boolean {
    if (err instanceof DirectorError && err.status === 500) return ++this.internal === 1;
    return isUnavailable(err);
  }
}
