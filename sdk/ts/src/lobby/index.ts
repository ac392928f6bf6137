/** Client of the realtime lobby of the Lattice Director: rooms, chat, parties, lobbies, the queue, and the way to the match's game server. */
export { Lobby, type QueuePlace } from './lobby.js';
export type { FriendPresence, ListedRoom, RoomQuery } from './list.js';
export { Room, type JoinOptions, type QueueRequest, type RequestOptions, type RoomChange } from './room.js';
export type { LobbyOptions } from './dialer.js';
export type { WebSocketClass } from './socket.js';
export type { FoundMatch, LobbyEvents, PlayerMessage, Presence, RoomEvents, RoomMessage } from './events.js';
export type { Member, State } from './state.js';
export { DisconnectedError, EndedError, LobbyError, UncertainError } from './errors.js';
export type { TokenSource } from '../token.js';
export type { CallOptions } from '../http.js';
export type { Connection } from '../types.js';
