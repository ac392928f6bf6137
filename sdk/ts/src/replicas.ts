/** How long the client skips a replica after a failed call, in milliseconds: about the time of a restart. */
const failureCooldown = 2000;

export interface Replica {
  readonly base: string;
  skipUntil: number;
}

/**
 * Returns base URLs in turn and skips those that failed within the cooldown. It starts at a random one, so that clients that start
 * together do not all call the same replica.
 */
export class Replicas {
  private readonly all: Replica[];
  private turn: number;

  /** `scheme` is that of the URLs, which may have an "s" behind it. */
  constructor(urls: readonly string[], scheme: 'http' | 'ws' = 'http') {
    if (urls.length === 0) throw new TypeError('urls: want the URL of at least one replica');
    this.all = urls.map((url) => ({ base: baseURL(url, scheme), skipUntil: 0 }));
    this.turn = Math.floor(Math.random() * urls.length);
  }

  get count(): number {
    return this.all.length;
  }

  /** Returns the next replica that is not in its cooldown, else the one whose cooldown ends first. */
  pick(now: number): Replica {
    const inTurn = this.all.map((_, i) => this.all[(this.turn + i) % this.count] as Replica);
    const ready = inTurn.find((replica) => replica.skipUntil <= now);
    const picked = ready ?? inTurn.reduce((best, replica) => (replica.skipUntil < best.skipUntil ? replica : best));
    this.turn = (this.all.indexOf(picked) + 1) % this.count;
    return picked;
  }

  failed(replica: Replica, now: number): void {
    replica.skipUntil = now + failureCooldown;
  }

  failedAt(base: string, now: number): void {
    for (const replica of this.all) if (replica.base === base) this.failed(replica, now);
  }
}

/** Checks a URL and returns it without a slash at its end. An error never quotes it, because a wrong one may have a password. */
export function baseURL(raw: string, scheme: string): string {
  let url: URL | undefined;
  try {
    url = new URL(raw.trim());
  } catch {
    // answered below
  }
  const plain = url && [`${scheme}:`, `${scheme}s:`].includes(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  if (!url || !plain) throw new TypeError(`urls: want ${scheme}(s)://host[:port][/prefix], without a user or a query`);
  return url.href.replace(/\/+$/, '');
}
