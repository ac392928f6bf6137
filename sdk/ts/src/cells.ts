import { DirectorError } from './errors.js';
import type { Call } from './http.js';
import { baseURL } from './replicas.js';

/** Bounds the regions, and the tickets, whose cells a client remembers. */
const maxRemembered = 4096;

/**
 * What a client knows of other cells: installations that serve other regions of the title. It learns that from answers of the configured
 * replicas alone, so nobody else can name an address to which the token is sent.
 */
export class Cells {
  private readonly regions = new Map<string, string>();
  private readonly tickets = new Map<string, string>();

  /** Returns the address of the cell that has what a call names, undefined if none is known. */
  addressFor(call: Call): string | undefined {
    if (call.ticket !== undefined) return this.tickets.get(call.ticket);
    return call.region === undefined ? undefined : this.regions.get(call.region);
  }

  rememberTicket(id: string, address: string): void {
    remember(this.tickets, id, address);
  }

  forgetRegion(region: string | undefined): void {
    if (region !== undefined) this.regions.delete(region);
  }

  /** Returns where to ask in place of the replica that was asked, and remembers it; undefined if the answer was another. */
  follow(asked: string, err: unknown): string | undefined {
    if (!isElsewhere(err)) return undefined;
    const address = cellAddress(err.address, asked);
    if (address !== undefined && err.region !== '') remember(this.regions, err.region, address);
    return address;
  }
}

function remember(places: Map<string, string>, what: string, address: string): void {
  places.delete(what); // it becomes the latest
  places.set(what, address);
  for (const oldest of places.keys()) {
    if (places.size <= maxRemembered) return;
    places.delete(oldest);
  }
}

/** Checks an address that a replica has named. A token that was sent by https is not sent in plain text. */
function cellAddress(raw: string, asked: string): string | undefined {
  try {
    const address = baseURL(raw, 'http');
    return address.startsWith('https:') || asked.startsWith('http:') ? address : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether another cell serves the region that a call names. */
export function isElsewhere(err: unknown): err is DirectorError {
  return err instanceof DirectorError && err.status === 421 && err.code === 'region_elsewhere';
}
