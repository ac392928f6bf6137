// Package sdk is the Go client of the director. It serves two kinds of programs: game servers, and programs that play.
//
// A game server calls [Start] and gets a [GameServer]. The GameServer sends heartbeats in the background, registers
// again when the director no longer knows it, admits players by their session tokens, and reports joined and left
// players. Its method Sessions delivers the expected players. Its states:
//
//	Start ── live ──┬── 404 on a heartbeat: registers again; its admissions end with ErrSessionLost ── live
//	                ├── 409 superseded: another process owns the instance id; final, it never registers again
//	                └── Close or Shutdown: flushes its seat reports, deregisters; final
//
// A player's program uses a [Player], which has the calls Matchmake, Resolve and Session. Its method Seat combines
// them: it takes a match request and returns an endpoint and a session token. Its method Queue makes a ticket, with
// which a party waits until the director has found a match: see [Queued].
//
// Both use a [Client], which holds the base URLs of the director's replicas. A call goes to one replica. When that
// replica is unreachable or overloaded, the Client retries on the others with exponential backoff and jitter, honours
// Retry-After, and stops when the call's context ends. Every call of the API is safe to retry, also after a lost
// answer.
//
// The package contains no game loop and no transport between players and game servers; examples/arena shows both.
// Package token verifies the signatures of session tokens. Package sdk/sdktest has a director for tests, in memory.
package sdk
