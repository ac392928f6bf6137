// Package nats serves game servers with bevygap's plugin, which needs a NATS server: it connects by user and password,
// makes key-value buckets, asks whose session a client is, and says who has joined and left. The face speaks as much of
// NATS's client protocol and of JetStream as that takes, and nothing is stored here: a bucket is a view of rows.
//
//	sessions_ly2eg[client id]        get: the session of a client, as the key of its connection
//	active_connections[key]          put: the client has joined; delete: it has left
//	cert_digests[address]            put: the certificate that players have to expect, without which no server is ready
//	edgegap_delete_session_q.<key>   publish: as delete
//
// A connection is a game server's registration and its lease. User is the id of a deployment, password its credential.
//
//   - server.go, accept.go, crowd.go: the listener, and how many connections there are; options.go: what configures it
//   - handshake.go: INFO, TLS, CONNECT, and who it is; refusal.go: why it is refused
//   - conn.go: one connection: reads operations, pings, writes
//   - subscriptions.go: to whom a reply goes
//   - request.go, bucket.go: the calls of JetStream, and what they mean
//   - gameserver.go: the registration and the list of clients behind a connection
//   - registration.go: the calls that store both
//
// The wire format, which is pure: operation.go is what clients send, message.go what they get, stream.go the answers of
// JetStream.
//
// The plugin has two habits that shape this package. It panics, with all players, when a client has no session or a
// write is not acknowledged within five seconds. And it numbers nothing: after a lost connection it goes on at another
// replica, which takes the list of clients from their rows.
package nats
