/** Ends a wait: with the caller's signal, or when the time is over. */
export class Deadline {
  private readonly controller = new AbortController();
  private readonly cancel = (): void => this.controller.abort(this.parent?.reason);
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the time was over. */
  expired = false;

  constructor(
    private readonly parent: AbortSignal | undefined,
    milliseconds: number,
  ) {
    if (parent?.aborted) this.cancel();
    parent?.addEventListener('abort', this.cancel);
    this.extend(milliseconds);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Whether the caller's signal aborted. */
  get aborted(): boolean {
    return this.parent?.aborted ?? false;
  }

  /** Begins the time anew. */
  extend(milliseconds: number): void {
    this.pause();
    this.timer = setTimeout(() => {
      this.expired = true;
      this.controller.abort();
    }, milliseconds);
  }

  /** Stops the time. */
  pause(): void {
    clearTimeout(this.timer);
  }

  /** Releases everything. What still waits for the signal is aborted. */
  end(): void {
    this.pause();
    this.parent?.removeEventListener('abort', this.cancel); // a signal may live much longer than a call
    this.controller.abort();
  }
}

/** Resolves after the time, and rejects with the signal's reason when that aborts. */
export async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await abortable(new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds))), signal);
  } finally {
    clearTimeout(timer); // it would keep Node.js running
  }
}

/** Waits for a promise, and rejects with the signal's reason when that aborts. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  let cancel: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    cancel = (): void => reject(signal.reason);
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (cancel) signal.removeEventListener('abort', cancel);
  }
}
