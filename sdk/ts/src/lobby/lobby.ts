import type { CallOptions } from '../http.js';
import { abortable, sleep } from '../wait.js';
import { Calls } from './calls.js';
import { Dialer, type LobbyOptions } from './dialer.js';
import { EndedError, isRepeatable, LobbyError } from './errors.js';
import { Emitter, type FoundMatch, type LobbyEvents, type PlayerMessage, type RoomMessage } from './events.js';
import type { FriendPresence, ListedRoom, RoomQuery } from './list.js';
import { reached, Room, type JoinOptions, type QueueRequest, type RequestOptions, type RoomClient } from './room.js';
import type { Frame, Socket } from './socket.js';
import { Watched } from './watched.js';

/** The pause before a request is repeated, in milliseconds, beside the one that the director asks for. */
const repeatPause = 250;

/** A place in the queue. */
export interface QueuePlace {
  readonly room_type: string;
  readonly size: number;
  /** 1 is the next; it counts to 1,000. */
  readonly position: number;
}

/**
 * A session of the realtime lobby, over any number of connections: when one ends, the client connects to the next replica and resumes its
 * session, so that the player stays in its rooms and in the queue. After a longer absence it gets a new session, and joins its rooms again.
 */
export class Lobby extends Emitter<LobbyEvents> implements RoomClient {
  /** The session's id. Another client resumes the session with it, such as a page that was loaded again. */
  session = '';
  private readonly dialer: Dialer;
  private readonly calls = new Calls();
  private readonly all = new Map<string, Room>();
  private readonly life = new AbortController();
  private socket: Socket | undefined;
  private waiting: (() => void)[] = [];
  private readonly watched = new Map<string, Watched<any>>();

  private constructor(options: LobbyOptions) {
    super();
    this.session = options.session ?? '';
    this.dialer = new Dialer(options, (frame) => this.take(frame));
  }

  /** Opens a session, or resumes one. It tries all replicas until the signal aborts. Throws LobbyError for a refused token, TypeError. */
  static async connect(options: LobbyOptions, { signal }: CallOptions = {}): Promise<Lobby> {
    const lobby = new Lobby(options);
    const first = await lobby.dialer.connect(options.session, signal);
    void lobby.run(first);
    return lobby;
  }

  /** Whether there is a connection now. Requests wait for one. */
  get connected(): boolean {
    return this.socket !== undefined;
  }

  /** The URL of the replica to which the client is connected; empty while it is not. */
  get url(): string {
    return this.socket?.url ?? '';
  }

  /** The rooms in which the session is. */
  get rooms(): Room[] {
    return [...this.all.values()].filter((room) => room.seq > 0);
  }

  /** Returns a room by its id, to listen to it or to leave it. */
  room(id: string): Room {
    const known = this.all.get(id) ?? new Room(this, id);
    this.all.set(id, known);
    return known;
  }

  /**
   * Joins a room, or makes it, and waits for its state. Without an id it is the one that all of this type share. Joining again changes
   * nothing. Throws LobbyError: `room_full`, `room_locked`, `not_invited`, `room_not_found`, `unsupported_room_type`, `invalid`.
   */
  async join(type: string, id?: string, options: JoinOptions = {}, call: CallOptions = {}): Promise<Room> {
    return this.enter('room.join_or_create', { room_type: type }, id, options, call);
  }

  private async enter(request: string, which: object, id: string | undefined, options: JoinOptions, call: CallOptions): Promise<Room> {
    const answer = await this.request(request, { ...which, options }, { ...call, repeat: true, ...(id === undefined ? {} : { room: id }) });
    const room = this.room(String(answer['room']));
    room.type = String({ ...answer, ...which }['room_type']);
    room.options = options;
    if (room.seq === 0) await abortable(nextState(room), call.signal);
    return room;
  }

  /** Makes a party, which only invited players join. */
  createParty(options: JoinOptions = {}, call: CallOptions = {}): Promise<Room> {
    return this.join('party', `party:${randomSuffix()}`, options, call);
  }

  /** Makes a lobby. */
  createLobby(options: JoinOptions = {}, call: CallOptions = {}): Promise<Room> {
    return this.join('lobby', `lobby:${randomSuffix()}`, options, call);
  }

  /** Joins the room of a match, where its game server is found: `Room.resolve`. */
  joinMatch(match: FoundMatch, options: JoinOptions = {}, call: CallOptions = {}): Promise<Room> {
    return this.join(match.room_type, match.room, options, call);
  }

  /** Joins the room that has a code, such as "KX7-4ZM", also a private one. Throws LobbyError: `code_unknown`, `room_full`, `banned`, … */
  joinByCode(code: string, options: JoinOptions = {}, call: CallOptions = {}): Promise<Room> {
    return this.enter('room.join', { code }, undefined, options, call);
  }

  /** Returns rooms that are not private; `next` is the `after` of the next page. */
  async list(query: RoomQuery = {}, call: CallOptions = {}): Promise<{ rooms: ListedRoom[]; next?: string }> {
    return (await this.request('room.list', query, { ...call, repeat: true })) as unknown as { rooms: ListedRoom[]; next?: string };
  }

  /**
   * Calls a function with the rooms that a search finds, and again with all of them when they change, at most once a second. A client
   * watches one search; a second one replaces it. Returns a function that ends it. Throws LobbyError: `invalid`.
   */
  watchRooms(query: RoomQuery, show: (rooms: ListedRoom[]) => void, call: CallOptions = {}): Promise<() => void> {
    const watched = new Watched<ListedRoom>('room.list', { ...query, subscribe: true }, 'rooms', ({ id }) => id, show);
    return this.watch('room.list.changed', watched, ['room.unlist', {}], call);
  }

  /** Calls a function with the presence of up to 100 players, and again with all of them when it changes. Otherwise as `watchRooms`. */
  watchFriends(players: readonly string[], show: (friends: FriendPresence[]) => void, call: CallOptions = {}): Promise<() => void> {
    const watched = new Watched<FriendPresence>('presence.watch', { players }, 'players', ({ player }) => player, show);
    return this.watch('presence.changed', watched, ['presence.watch', { players: [] }], call);
  }

  /** Sends a message to a player, also one who is not connected. Returns how many of its connections it reached. It is not repeated. */
  async sendTo(player: string, type: string, data: unknown, call: CallOptions = {}): Promise<number> {
    return reached(await this.request('player.message', { player, type, data }, call));
  }

  /** Returns the last messages to the player, the oldest first: those with a number behind `after`. */
  async inbox({ after = 0, ...call }: CallOptions & { after?: number } = {}): Promise<PlayerMessage[]> {
    return (await this.request('player.history', { after }, { ...call, repeat: true }))['messages'] as PlayerMessage[];
  }

  /** The player has read its messages up to this number: later sessions are not sent them again. */
  async markRead(number: number, call: CallOptions = {}): Promise<void> {
    await this.request('player.read', { number }, { ...call, repeat: true });
  }

  /** Decides whether another player may invite this one and write to it. The other is not told. */
  async block(player: string, blocks = true, call: CallOptions = {}): Promise<void> {
    await this.request(blocks ? 'player.block' : 'player.unblock', { player }, { ...call, repeat: true });
  }

  /** Returns the players that this one blocks. */
  async blocked(call: CallOptions = {}): Promise<string[]> {
    return (await this.request('player.blocked', {}, { ...call, repeat: true }))['players'] as string[];
  }

  /** Puts the session into the queue, alone; the event `match` follows. Throws LobbyError: `cannot_match`, `profile_unknown`, `ticket_exists`. */
  async enqueue({ room_type: roomType, ...rest }: QueueRequest, call: CallOptions = {}): Promise<QueuePlace> {
    const answer = await this.request('matchmaking.enqueue', { roomType, ...rest }, { ...call, repeat: true });
    return answer as unknown as QueuePlace;
  }

  /** Takes the session out of the queue. Returns false if it was in none. */
  async dequeue(call: CallOptions = {}): Promise<boolean> {
    return (await this.request('matchmaking.dequeue', {}, { ...call, repeat: true }))['removed'] === true;
  }

  /** Accepts the match of a `pending`. Throws LobbyError: `too_late`. */
  async accept(matchId: string, call: CallOptions = {}): Promise<void> {
    await this.request('match.accept', { match_id: matchId }, { ...call, repeat: true });
  }

  /** Declines it; the party leaves the queue. Throws LobbyError: `too_late`. */
  async decline(matchId: string, call: CallOptions = {}): Promise<void> {
    await this.request('match.decline', { match_id: matchId }, { ...call, repeat: true });
  }

  /**
   * Makes a request, such as one that has no method here, and returns its answer. It waits for a connection. Throws LobbyError, EndedError,
   * the signal's reason, and UncertainError unless it may be repeated.
   */
  async request(type: string, p: object = {}, { room, repeat, signal }: RequestOptions = {}): Promise<Record<string, unknown>> {
    for (;;) {
      const socket = await abortable(this.connection(), signal);
      try {
        return await this.calls.make(socket, type, room, p, signal);
      } catch (err) {
        if (!repeat || !isRepeatable(err)) throw err;
        await sleep(repeatPause + (err instanceof LobbyError ? Math.min(err.retryAfter, 60_000) : 0), signal);
      }
    }
  }

  /** Ends the connection and connects to the next replica, such as when the network has changed: a silent one is noticed half a minute later. */
  reconnect(): void {
    this.socket?.stop(1000, 'reconnect');
  }

  /** Ends the connection. The session ends when its time to live is over: leave rooms that the player shall be out of at once. */
  close(): void {
    this.life.abort(new EndedError('the client was closed'));
    const { socket } = this;
    this.socket = undefined;
    socket?.stop();
  }

  /** Resolves with the connection, as soon as there is one. */
  private async connection(): Promise<Socket> {
    while (!this.socket) {
      this.life.signal.throwIfAborted();
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    return this.socket;
  }

  /** Keeps the client connected until it is closed or cannot be. */
  private async run(first: Socket): Promise<void> {
    try {
      for (let socket = first; ; ) {
        this.attach(socket);
        const why = await socket.ended;
        this.socket = undefined;
        this.calls.drop();
        this.life.signal.throwIfAborted();
        this.emit('disconnected', why);
        this.dialer.noteEnd(socket, why);
        await this.dialer.pause(this.life.signal);
        socket = await this.dialer.connect(this.session, this.life.signal);
      }
    } catch (err) {
      this.life.abort(err); // of the client, or what it cannot change
      this.wake();
      this.emit('ended', err as Error);
    }
  }

  private attach(socket: Socket): void {
    const { session_id: session, resumed } = socket.welcome;
    this.socket = socket;
    this.session = session;
    this.emit('connected', { url: socket.url, session, resumed });
    if (!resumed) for (const room of this.all.values()) void this.rejoin(room);
    for (const [event, watched] of this.watched) this.begin(event, watched, {}).catch(() => {}); // the client has ended
    this.wake();
    setTimeout(() => this.socket === socket && socket.start()); // the program that awaited connect listens by then
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  private async watch<Item>(event: string, watched: Watched<Item>, end: [type: string, p: object], call: CallOptions): Promise<() => void> {
    this.watched.set(event, watched);
    await this.begin(event, watched, call);
    return () => {
      if (this.watched.get(event) !== watched) return;
      this.watched.delete(event);
      void this.request(...end).catch(() => {}); // the end of the connection ends it as well
    };
  }

  private async begin(event: string, watched: Watched<any>, call: CallOptions): Promise<void> {
    watched.restart();
    const answer = await this.request(watched.type, watched.p, { ...call, repeat: true });
    if (this.watched.get(event) === watched) watched.begin(answer);
  }

  /** Joins a room again in which the client was with a session that has ended. */
  private async rejoin(room: Room): Promise<void> {
    const { options } = room;
    room.forget();
    if (!options) return;
    try {
      await this.join(room.type, room.id, options, { signal: this.life.signal });
    } catch (err) {
      if (err instanceof LobbyError) room.emit('left', { session: this.session, self: true, reason: err.code });
    }
  }

  private take({ t, rid, room: id, p }: Frame): void {
    if (t === 'rpc.response') return this.calls.take(rid, p);
    const watched = this.watched.get(t);
    if (watched) return watched.take(p as Record<string, unknown>);
    const event = lobbyEvents[t];
    if (event) return this.emit(event, p as never);
    if (id === undefined || !this.takeOfRoom(this.room(id), t, (p ?? {}) as Record<string, unknown>)) this.emit('frame', { t, ...(id === undefined ? {} : { room: id }), p });
  }

  /** Takes a frame about a room. Returns whether it is known. */
  private takeOfRoom(room: Room, t: string, p: Record<string, unknown>): boolean {
    switch (t) {
      case 'state.snapshot':
      case 'state.patch': {
        const answer = room.takeState(t, p);
        if (answer) this.socket?.send({ t: answer, room: room.id, p: answer === 'state.ack' ? { seq: room.seq } : {} });
        return true;
      }
      case 'room.members':
        if (Array.isArray(p['members'])) room.emit('members', (room.sessions = p['members'] as string[]));
        return true;
      case 'room.message':
        room.takeMessage(p as unknown as RoomMessage);
        return true;
    }
    const kind = presences[t];
    if (!kind) return false;
    const session = String(p['client_id']);
    const self = session === this.session;
    if (kind === 'left' && self) room.forget();
    room.emit(kind, { ...p, session, self } as never);
    return true;
  }
}

function nextState(room: Room): Promise<void> {
  return new Promise((resolve) => {
    const off = room.on('state', () => {
      off();
      resolve();
    });
  });
}

const lobbyEvents: Record<string, 'invited' | 'match' | 'pending' | 'expired' | 'mail'> = {
  'room.invited': 'invited',
  'match.found': 'match',
  'match.pending': 'pending',
  'matchmaking.expired': 'expired',
  'player.message': 'mail',
};

const presences: Record<string, 'joined' | 'left' | 'dropped' | 'reconnected'> = {
  'room.joined': 'joined',
  'room.left': 'left',
  'room.dropped': 'dropped',
  'room.reconnected': 'reconnected',
};

/** Returns the end of the id of a new room. Others cannot join a private one by guessing it, so it need not be secret. */
function randomSuffix(): string {
  return Array.from({ length: 10 }, () => Math.floor(Math.random() * 36).toString(36)).join('');
}
