// The names of the types that api.ts has, which is generated from api/openapi.yaml. Fields are those of the wire.
import type { components } from './api.js';

type Schemas = components['schemas'];

/** Asks for seats in one session, for the caller or for a `party` with the caller. */
export type MatchRequest = Schemas['MatchmakeRequest'];
/** A session in which the caller has a seat. Its `session_handle` is a secret that the session's players share. */
export type Match = Schemas['Placement'];
/** Lets one player connect: to `endpoint`, with `session_token`, within 2 minutes by default. The token is a secret. */
export type Connection = Schemas['ResolveResponse'];
/** A match with a session token, ready to connect to. */
export type Seat = Match & Connection;
/** Asks for a match by the rules of profiles. */
export type TicketRequest = Schemas['TicketRequest'];
/** A ticket as one of its players sees it. Which fields it has depends on its `state`. */
export type Ticket = Schemas['Ticket'];
/** A state of a ticket. Treat one that you do not know as `queued`: a newer director may send it. */
export type TicketState = Ticket['state'];
/** Where a player stands in the login queue. It has a `position` and an `estimate` while its `state` is `waiting`. */
export type LoginPlace = Schemas['LoginQueuePlace'];
/** A game region with the URL at which its latency is measured. */
export type GameRegion = Schemas['GameRegion'];
/** An invalid field of a request. */
export type FieldError = Schemas['FieldError'];
/** What the director answers in place of a success, by RFC 9457. */
export type Problem = Schemas['Problem'];
/** The stable, machine-readable reason of a refusal. */
export type ProblemCode = Problem['code'];

/** Returns whether a ticket in this state has left the queue. */
export function isFinal(state: TicketState): boolean {
  return state === 'assigned' || state === 'declined' || state === 'cancelled' || state === 'expired';
}
