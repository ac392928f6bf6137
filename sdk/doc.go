// Package sdk is the Go client of the director, for the two kinds of programs that call it.
//
// A game server says who it is with [Start] and gets a [GameServer]: it heartbeats by itself, registers again when the
// director has forgotten it, admits players by their session tokens and reports who came and who left. Its life:
//
//	Start ── live ──┬── 404 on a heartbeat: registered again; its admissions end with ErrSessionLost ── live
//	                ├── 409 superseded: another process owns the instance id now; final, it never registers again
//	                └── Close or Shutdown: seat reports flushed, deregistered; final
//
// A player's program holds a [Player]: Matchmake, Resolve, Session, and Seat, which does all that is needed to get from
// "I want to play" to an endpoint and a token.
//
// Both stand on a [Client], which knows the director's replicas. A call goes to one of them; when that one cannot be
// reached or is overloaded the call is repeated elsewhere, with exponential backoff, jitter and respect for
// Retry-After, for as long as its context allows. Every call of the API is safe to repeat, so a lost answer is just
// another reason to ask again.
//
// The package owns no game loop and no transport between players and game servers; examples/arena shows those.
// Checking a session token's signature lives in package token. A director to test against, without a database,
// is in sdk/sdktest.
package sdk
