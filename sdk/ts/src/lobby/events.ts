import type { State } from './state.js';

/** The events of a `Lobby`. Fields are those of the wire. */
export interface LobbyEvents {
  /** The client is connected; `resumed`: with the session that it had. */
  connected: { readonly url: string; readonly session: string; readonly resumed: boolean };
  /** The connection has ended, and the client connects again. */
  disconnected: Error;
  /** The client has ended. */
  ended: Error;
  /** Somebody invites the player: join the room, or leave it to decline. */
  invited: { readonly room: string; readonly room_type: string; readonly from: string; readonly from_player?: string };
  /** A match was found: join its room. It comes again on each connection until the session has. */
  match: FoundMatch;
  /** The player has so many seconds to accept the match or to decline it. */
  pending: { readonly room_type: string; readonly size: number; readonly seconds: number; readonly match_id: string };
  /** The session waits for no match any more. */
  expired: { readonly room_type: string; readonly size: number; readonly reason: string };
  /** A message to the player, also one that was sent while it was away. */
  mail: PlayerMessage;
  /** Any other frame, such as one of a newer director. */
  frame: { readonly t: string; readonly room?: string; readonly p?: unknown };
}

export interface FoundMatch {
  readonly room: string;
  readonly room_type: string;
  readonly size: number;
  /** Sessions. */
  readonly participants: readonly string[];
}

/** A message in a room. */
export interface RoomMessage {
  readonly type: string;
  readonly data: unknown;
  readonly from?: string;
  /** The room remembers the last lines of chat: they have a number, their time in milliseconds since 1970, and the name in the sender's token. */
  readonly number?: number;
  readonly at?: number;
  readonly from_player?: string;
  /** It was sent while the client was away. What it has heard before is not repeated to the program. */
  readonly repeated?: boolean;
  /** Two numbers with a dot, which grow. */
  readonly id?: string;
}

/** A message to a player. */
export interface PlayerMessage {
  readonly type: string;
  readonly data: unknown;
  /** The session that sent it, and the name in its token; absent for one of the studio's backend. */
  readonly from?: string;
  readonly from_player?: string;
  /** Counts the messages to the player: what arrives twice has the same number. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The events of a `Room`. */
export interface RoomEvents {
  /** The room has another state. */
  state: State;
  /** The sessions in the room, sorted. */
  members: readonly string[];
  /** A message; `from` is the session that sent it, and absent for the room's own, such as "matched" and "unqueued". */
  message: RoomMessage;
  joined: Presence;
  dropped: Presence;
  reconnected: Presence;
  /** A session is no member any more: `reason` is `kicked`, `replaced`, or the code with which it could not join again. */
  left: Presence & { readonly reason?: string };
}

/** What a session does in a room; `self`: it is that of this client. */
export interface Presence {
  readonly session: string;
  readonly self: boolean;
}

/** Calls the listeners of an event. */
export class Emitter<Events> {
  private readonly listeners = new Map<keyof Events, Set<(event: never) => void>>();

  /** Calls a function with each event of a kind. Returns a function that ends that. */
  on<Kind extends keyof Events>(kind: Kind, listener: (event: Events[Kind]) => void): () => void {
    const all = this.listeners.get(kind) ?? new Set();
    this.listeners.set(kind, all.add(listener));
    return () => void all.delete(listener);
  }

  emit<Kind extends keyof Events>(kind: Kind, event: Events[Kind]): void {
    for (const listener of [...(this.listeners.get(kind) ?? [])] as ((event: Events[Kind]) => void)[]) {
      try {
        listener(event);
      } catch (err) {
        queueMicrotask(() => { throw err; }); // a fault of the program, which must not end the connection
      }
    }
  }
}
