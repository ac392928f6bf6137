import { DirectorError } from './errors.js';
import { abortable } from './wait.js';

/**
 * Returns the player's access token, which the game's own login issued. It is called before each attempt, so it should keep a valid
 * token. With `refresh` the director has just refused that token: get a new one.
 */
export type TokenSource = (options: { refresh: boolean }) => string | Promise<string>;

/** Holds the access token of one player. */
export class Token {
  readonly #source: string | TokenSource; // hidden from console.log
  private refreshing: Promise<string> | undefined;

  constructor(source: string | TokenSource) {
    this.#source = source;
  }

  /** Calls `use` with the token, and once more with a new one when the director answers 401. */
  async with<T>(signal: AbortSignal | undefined, once: { refreshed: boolean }, use: (token: string) => Promise<T>): Promise<T> {
    try {
      return await use(await this.get(signal, false));
    } catch (err) {
      const refused = err instanceof DirectorError && err.status === 401;
      if (!refused || once.refreshed || typeof this.#source === 'string') throw err;
    }
    once.refreshed = true;
    return use(await this.get(signal, true));
  }

  private async get(signal: AbortSignal | undefined, refresh: boolean): Promise<string> {
    signal?.throwIfAborted();
    const source = this.#source;
    if (typeof source === 'string') return checked(source);
    if (!refresh) return checked(await abortable(Promise.resolve(source({ refresh })), signal));
    // Calls that are refused together get one new token.
    this.refreshing ??= Promise.resolve(source({ refresh })).finally(() => (this.refreshing = undefined));
    return checked(await abortable(this.refreshing, signal));
  }
}

/** Refuses what a header cannot carry. fetch would do so too, with an error that quotes the token. */
function checked(token: string): string {
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) throw new TypeError('token: want the access token as a text without spaces');
  return token;
}
