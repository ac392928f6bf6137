/** Client of the Lattice Director for players: ask for a match, queue with a ticket, and get what is needed to connect. */
export type { CallOptions } from './http.js';
export { Player, type Reconnection, type ReconnectOptions, type SeatOptions } from './player.js';
export type { EnterOptions, LoginOptions } from './login.js';
export { QueuedTicket } from './queued.js';
export type { PlayerOptions, Retry } from './client.js';
export type { TokenSource } from './token.js';
export { measureLatencies, type MeasureOptions } from './latency.js';
export { DirectorError, UnreachableError, UnreadableError } from './errors.js';
export {
  isFinal,
  type Connection,
  type FieldError,
  type GameRegion,
  type LoginPlace,
  type Match,
  type MatchRequest,
  type Problem,
  type ProblemCode,
  type Seat,
  type Ticket,
  type TicketRequest,
  type TicketState,
} from './types.js';
