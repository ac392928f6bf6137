import type { CallOptions } from '../http.js';
import type { Connection } from '../types.js';
import { isCode } from './errors.js';
import { Emitter, type RoomEvents } from './events.js';
import { membersOf, patched, snapshot, type Member, type Op, type State } from './state.js';

/** What a member says of itself, and what a member that makes a room says of that. */
export interface JoinOptions {
  /** What parties, lobbies and matches call the member. */
  name?: string;
  /** Only invited players join the new room, and the list of rooms does not have it. */
  private?: boolean;
  max_members?: number;
  /** Of a new chat. */
  topic?: string;
  /** Of a new lobby. */
  settings?: Record<string, unknown>;
}

/** What a session, a party or a lobby queues for. */
export interface QueueRequest {
  /** Without it, a lobby queues for what its type says. */
  room_type?: string;
  /** Players of a match, 2 to 16. A party and a lobby: its members. A room type with a profile has its own. */
  size?: number;
  attributes?: Record<string, unknown>;
  /** Whole milliseconds by region. */
  latencies?: Record<string, number>;
}

/** How a room makes requests. */
export interface RoomClient {
  readonly session: string;
  request(type: string, p: object, options: RequestOptions): Promise<Record<string, unknown>>;
}

/** Options of a request. */
export interface RequestOptions extends CallOptions {
  room?: string;
  /** The request may be carried out twice: repeat it after a lost connection. */
  repeat?: boolean;
}

/** A room. The same object for as long as the client lives, whether it is a member or not. */
export class Room extends Emitter<RoomEvents> {
  /** The type with which the client joined; empty before. */
  type = '';
  /** Empty while the client is no member. A new object for each change. */
  state: State = snapshot({});
  /** The sessions in the room. */
  sessions: readonly string[] = [];
  /** Counts the changes of the state; 0: the client is no member. */
  seq = 0;
  /** With which the client joined; undefined: it did not. */
  options: JoinOptions | undefined;

  private last: readonly [row: number, index: number] = [0, 0];

  /** Use `Lobby.join` or `Lobby.room`. */
  constructor(
    private readonly client: RoomClient,
    readonly id: string,
  ) {
    super();
  }

  /** The members of a party, a lobby or a match. */
  get members(): Member[] {
    return membersOf(this.state);
  }

  /** This client as a member. */
  get me(): Member | undefined {
    return this.members.find((member) => member.session === this.client.session);
  }

  /** Whether this client owns the party or the lobby. */
  get isOwner(): boolean {
    return this.state['owner'] === this.client.session;
  }

  /** Returns whether a message is new. The director repeats what the client may have missed while it was away. */
  isNew(message: { readonly id?: unknown; readonly repeated?: unknown }): boolean {
    const [row = 0, index = 0] = String(message.id ?? '').split('.').map(Number);
    const known = row < this.last[0] || (row === this.last[0] && index <= this.last[1]);
    if (known && message.repeated === true) return false;
    this.last = [row, index];
    return true;
  }

  /** Sends a message and waits until the room has accepted it. It is not repeated. Throws LobbyError, UncertainError. */
  async send(type: string, data: unknown = {}, options: CallOptions = {}): Promise<void> {
    await this.message(type, data, options, false);
  }

  /** Sends a line of chat, which all members receive as a message of the type "say". Throws as `send`. */
  say(text: string, options?: CallOptions): Promise<void> {
    return this.send('say', { text }, options);
  }

  /** Invites a player, by the `sub` of its token, for 5 minutes. */
  invite(player: string, options?: CallOptions): Promise<void> {
    return this.message('invite', { player }, options);
  }

  /** In a lobby. A change takes all members out of the queue. */
  ready(ready: boolean, options?: CallOptions): Promise<void> {
    return this.message('ready', { ready }, options);
  }

  /** In a lobby. */
  team(team: string | number | null, options?: CallOptions): Promise<void> {
    return this.message('team', { team }, options);
  }

  /** Changes a setting of a lobby; null deletes it. For the owner. */
  set(key: string, value: unknown, options?: CallOptions): Promise<void> {
    return this.message('set', { key, value }, options);
  }

  /** Decides whether others may join. For the owner. */
  lock(locked: boolean, options?: CallOptions): Promise<void> {
    return this.message('lock', { locked }, options);
  }

  /** Removes a member. For the owner. */
  kick(session: string, options?: CallOptions): Promise<void> {
    return this.send('kick', { session }, options);
  }

  /** Makes another member the owner. For the owner. */
  giveOwnership(session: string, options?: CallOptions): Promise<void> {
    return this.send('owner', { session }, options);
  }

  /** Shows all members of a lobby a countdown, if all are ready and connected. For the owner. */
  countdown(seconds: number, options?: CallOptions): Promise<void> {
    return this.send('countdown', { seconds }, options);
  }

  /** The members of a party queue together. For the owner. Throws LobbyError: `refused`, `invalid`, `cannot_match`, `profile_unknown`. */
  queue(request: QueueRequest, options?: CallOptions): Promise<void> {
    return this.send('queue', request, options);
  }

  /** The members of a lobby queue together, if all are ready and connected. For the owner. Throws as `queue`. */
  start(request: QueueRequest = {}, options?: CallOptions): Promise<void> {
    return this.send('start', request, options);
  }

  /** Takes the members out of the queue. */
  cancelQueue(options?: CallOptions): Promise<void> {
    return this.message('cancel', {}, options);
  }

  /** Leaves the room, or declines an invitation to it. */
  async leave(options: CallOptions = {}): Promise<void> {
    try {
      await this.client.request('room.leave', {}, { ...options, room: this.id, repeat: true });
    } catch (err) {
      if (!isCode(err, 'not_a_member', 'room_not_found')) throw err; // it has left, perhaps by an attempt whose answer was lost
    }
    this.forget();
  }

  /** Returns what is needed to connect to the game server of a match. Throws LobbyError: `refused` for a match without one. */
  resolve(options: CallOptions = {}): Promise<Connection> {
    return this.client.request('match.resolve', {}, { ...options, room: this.id, repeat: true }) as unknown as Promise<Connection>;
  }

  private async message(type: string, data: unknown, options: CallOptions = {}, repeat = true): Promise<void> {
    await this.client.request('room.message', { type, data }, { ...options, room: this.id, repeat });
  }

  /** Takes a snapshot or a patch, and returns the type of the answer that the director must get, if any. For the client. */
  takeState(type: string, p: { seq?: unknown; state?: unknown; ops?: unknown }): 'state.ack' | 'state.resync' | undefined {
    if (typeof p.seq !== 'number') return undefined;
    if (type === 'state.snapshot') {
      if (typeof p.state !== 'object' || p.state === null) return undefined;
      this.state = snapshot(p.state);
    } else {
      if (this.seq === 0 || p.seq > this.seq + 1) return 'state.resync';
      if (p.seq <= this.seq || !Array.isArray(p.ops)) return undefined; // a snapshot had it
      this.state = patched(this.state, p.ops as Op[]);
    }
    this.seq = p.seq;
    this.emit('state', this.state);
    return 'state.ack';
  }

  /** The client is no member any more. For the client. */
  forget(): void {
    this.state = snapshot({});
    this.sessions = [];
    this.seq = 0;
    this.options = undefined;
  }
}
