// Package realtime serves the realtime lobby: clients of Nexis, unmodified, and any client of the same wire hold a
// WebSocket, on which they join rooms, change their small states, exchange a few messages per second and queue for
// matches. It owns the connections.
//
// Package wire has the frames, package delivery sends members what happens in their rooms.
//
// realtime.go makes and runs a [Server], server.go is what it consists of, options.go what configures it.
//
// A connection:
//
//   - listen.go: what is refused before the upgrade; serve.go: the first frame, in the order in which it is judged, by
//     handshake.go, authenticate.go and secrets.go; refusal.go, handshake_hints.go: what a refused client gets
//   - attach.go: the session that the client gets, and its end
//   - conn.go: the connection; read.go, write.go: its two goroutines; outbox.go: what waits to be written; rates.go,
//     player_rates.go: what a client may send; close.go: why connections are closed; drain.go: how a replica that
//     stops closes them
//   - dispatch.go: from a frame to its RPC; rpcs.go: all of them; rpc.go: what an RPC is; answer.go: its answer
//   - rooms*.go: the RPCs of rooms and of their lists; relay.go: echo, and what is refused; match*.go, queueing.go:
//     those of matchmaking; messages.go, presence.go, blocks.go: those of players in no room together
//   - region.go, region_run.go: what this replica does for a region; replica.go, replica_lease.go: its lease, by which
//     others notice that it died; unattended.go: sessions that this replica owns without a connection;
//     loop.go: what runs while a connection watches something
//
// A session outlives its connection, and a client may resume it on any replica:
//
//	handshake ─▶ attached ──── socket gone ───▶ suspended ── TTL over ──▶ ended
//	                ▲  │                            │
//	                │  └─ taken over: close 4409    │
//	                └──────── resumed: epoch + 1 ◀──┘
package realtime
