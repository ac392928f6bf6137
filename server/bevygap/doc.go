// Package bevygap serves unmodified clients of bevygap: a game asks for a server over a WebSocket or a streamed answer,
// waits until a pool has started one, and gets its address with a connect token. It owns the wire: frames, error codes,
// limits per address. The players who wait are in internal/matching/waitingroom; db decides which of them get seats,
// and internal/connect makes connect tokens.
//
// A request:
//
//   - bevygap.go: the face and its end; options.go: what configures it; mount.go: its routes; origin.go and slots.go:
//     what is refused before anything is read
//   - socket.go, stream.go, wannaplay.go: the three transports, the first over package ws; page.go: the page for
//     browsers
//   - conversation.go: one request of any transport, which gets a seat in conversation_seat.go and waits for it in
//     conversation_wait.go; player.go: the player of a request; offers.go: the app version that it asks for;
//     failure.go: why there is no server
//   - request.go, address.go, frame.go: the wire, which is pure
//
// The client never retries and waits forever if its socket closes without a final frame. So every conversation ends
// with one, also when the replica shuts down:
//
//	Acknowledged ─▶ SessionRequestAccepted ─▶ ProgressReport … ─▶ SessionReady
//	      └──────────────────┴───────────────────────┴──────────▶ Error
package bevygap
