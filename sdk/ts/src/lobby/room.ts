import type { CallOptions } from '../http.js';
import type { Connection } from '../types.js';
import { isCode } from './errors.js';
import { Emitter, type RoomEvents, type RoomMessage } from './events.js';
import { membersOf, patched, snapshot, type Member, type Op, type State } from './state.js';

/** What a member says of itself, and what a member that makes a room says of that. */
export interface JoinOptions {
  /** What parties, lobbies and matches call the member. */
  name?: string;
  /** Only invited players join the new room, and the list of rooms does not have it. */
  private?: boolean;
  max_members?: number;
  /** Of a new room: what the list shows of it. */
  metadata?: Record<string, string | number | boolean>;
  /** Of a new chat. */
  topic?: string;
  /** What all members see of this one, such as its character. */
  data?: Record<string, unknown>;
  /** Of a new lobby. */
  settings?: Record<string, unknown>;
}

/** What the owner changes of a room. */
export interface RoomChange {
  private?: boolean;
  locked?: boolean;
  max_members?: number;
  /** Replaces all of it. */
  metadata?: Record<string, string | number | boolean>;
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

  /** The last message that was heard. */
  private heard: [position: number, index: number] = [0, -1];

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

  /** Sends a message and waits until the room has accepted it. It is not repeated. Throws LobbyError, UncertainError. */
  async send(type: string, data: unknown = {}, options: CallOptions = {}): Promise<void> {
    await this.message(type, data, options, false);
  }

  /** Sends a line of chat, which all members receive as a message of the type "say". Throws as `send`. */
  say(text: string, options?: CallOptions): Promise<void> {
    return this.send('say', { text }, options);
  }

  /** Returns the last lines of chat that the room remembers, the oldest first: those with a number behind `after`. */
  async history({ after = 0, ...options }: CallOptions & { after?: number } = {}): Promise<RoomMessage[]> {
    return (await this.client.request('room.history', { after }, { ...options, room: this.id, repeat: true }))['messages'] as RoomMessage[];
  }

  /** Invites a player, by the `sub` of its token, for 5 minutes. Returns how many of its connections that has reached. */
  async invite(player: string, options?: CallOptions): Promise<number> {
    return reached(await this.message('invite', { player }, options));
  }

  /** Shows all members an object of this one's own, such as its character and colour; null takes it back. */
  async setData(data: Record<string, unknown> | null, options?: CallOptions): Promise<void> {
    await this.message('member', { data }, options);
  }

  /** In a lobby. A change takes all members out of the queue. */
  async ready(ready: boolean, options?: CallOptions): Promise<void> {
    await this.message('ready', { ready }, options);
  }

  /** In a lobby. */
  async team(team: string | number | null, options?: CallOptions): Promise<void> {
    await this.message('team', { team }, options);
  }

  /** Changes a setting of a lobby; null deletes it. For the owner. */
  async set(key: string, value: unknown, options?: CallOptions): Promise<void> {
    await this.message('set', { key, value }, options);
  }

  /** Decides whether others may join. For the owner. */
  async lock(locked: boolean, options?: CallOptions): Promise<void> {
    await this.message('lock', { locked }, options);
  }

  /** Removes a member. For the owner. */
  kick(session: string, options?: CallOptions): Promise<void> {
    return this.send('kick', { session }, options);
  }

  /** Removes a member, whose player cannot join again while the room lives. For the owner. */
  ban(session: string, options?: CallOptions): Promise<void> {
    return this.send('kick', { session, ban: true }, options);
  }

  /** Changes who may join and what the list shows; what is absent stays. For the owner. */
  async update(change: RoomChange, options: CallOptions = {}): Promise<void> {
    await this.client.request('room.update', change, { ...options, room: this.id, repeat: true });
  }

  /** Returns the code with which others join, and makes one if there is none. `renew` and `remove` are for the owner. */
  code({ renew, remove, ...options }: CallOptions & { renew?: boolean; remove?: boolean } = {}): Promise<{ code?: string; link?: string }> {
    return this.client.request('room.code', { renew, remove }, { ...options, room: this.id, repeat: true });
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
  async cancelQueue(options?: CallOptions): Promise<void> {
    await this.message('cancel', {}, options);
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

  private message(type: string, data: unknown, options: CallOptions = {}, repeat = true): Promise<Record<string, unknown>> {
    return this.client.request('room.message', { type, data }, { ...options, room: this.id, repeat });
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

  /** Takes a message, unless the room has heard it before its connection ended. For the client. */
  takeMessage(message: RoomMessage): void {
    const [position = 0, index = 0] = (message.id ?? '').split('.').map(Number);
    const isHeard = position < this.heard[0] || (position === this.heard[0] && index <= this.heard[1]);
    if (message.repeated && isHeard) return;
    if (!isHeard) this.heard = [position, index];
    this.emit('message', message);
  }

  /** The client is no member any more. For the client. */
  forget(): void {
    this.heard = [0, -1];
    this.state = snapshot({});
    this.sessions = [];
    this.seq = 0;
    this.options = undefined;
  }
}

/** Returns how many connections a message has reached. */
export function reached(answer: Record<string, unknown>): number {
  return Number(answer['reached'] ?? 0);
}
