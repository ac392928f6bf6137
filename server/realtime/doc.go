// Package realtime serves the realtime lobby: clients of Nexis, unmodified, and any client of the same wire hold a WebSocket, on which they join
// rooms, change their small states, exchange a few messages per second and queue for matches. It owns the wire and the connections. What
// happens in rooms is decided in lobby, and committed by db.
//
// A connection:
//
//   - listen.go: the HTTP server, and what it refuses before the upgrade; handshake.go and authenticate.go: the first frame, in the order in
//     which it is judged; attach.go: the session that the client gets, and its end
//   - conn.go: the connection; read.go, write.go: its two goroutines; outbox.go: what waits to be written; rates.go: what a client may send;
//     keepalive.go: pings; drain.go: how a replica that stops closes its connections
//   - dispatch.go: from a frame to the answer of its RPC; rooms.go: the RPCs of rooms; relay.go: echo, and what is refused; match*.go: those of
//     matchmaking
//   - value.go, codec_json.go, codec_msgpack.go, envelope.go, errors.go: the frames
//   - hub.go, follow.go, snapshot.go, news.go: what members of rooms are sent; sync.go: when a client gets a snapshot instead of patches
//   - lease.go: the lease of this replica, by which others notice that it died
//
// A session outlives its connection, and a client may resume it on any replica:
//
//	handshake ─▶ attached ──── socket gone ───▶ suspended ── TTL over ──▶ ended
//	                ▲  │                            │
//	                │  └─ taken over: close 4409    │
//	                └──────── resumed: epoch + 1 ◀──┘
package realtime
