// Package realtime serves the realtime lobby: clients of Nexis, unmodified, and any client of the same wire hold a
// WebSocket, on which they join rooms, change their small states, exchange a few messages per second and queue for
// matches. It owns the connections.
//
// Package wire has the frames, package delivery sends members what happens in their rooms.
//
// A connection:
//
//   - listen.go: what is refused before the upgrade; handshake.go, handshake_hints.go and authenticate.go: the first
//     frame, in the order in which it is judged; attach.go: the session that the client gets, and its end
//   - conn.go: the connection; read.go, write.go: its two goroutines; outbox.go: what waits to be written; rates.go:
//     what a client may send; drain.go: how a replica that stops closes its connections
//   - dispatch.go: from a frame to the answer of its RPC; rooms.go: the RPCs of rooms; relay.go: echo, and what is
//     refused; match*.go, queueing.go: those of matchmaking
//   - region.go, replica.go: the lease of this replica, by which others notice that it died; unattended.go: sessions
//     that lost their connection
//
// A session outlives its connection, and a client may resume it on any replica:
//
//	handshake ─▶ attached ──── socket gone ───▶ suspended ── TTL over ──▶ ended
//	                ▲  │                            │
//	                │  └─ taken over: close 4409    │
//	                └──────── resumed: epoch + 1 ◀──┘
package realtime
