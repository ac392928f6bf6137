// Package ws is the kit of every WebSocket that the director serves: Rivalis agents, clients of the realtime lobby and
// of bevygap. It owns the mechanics of a connection and knows no protocol, no store and no engine of HTTP.
//
//   - accept.go: the upgrade, and the network connection that it leaves; cork.go: bursts of frames in few system calls
//   - conn.go: writing within a timeout, and the end of a connection, whose deadline no reader extends; read.go:
//     messages in bounded memory
//   - keepalive.go: pings
//   - set.go: the connections that somebody owns, and how they are closed over a time; slots.go: how many there may be
//
// Each connection has one goroutine that reads. At most one at a time writes messages; pings and close frames may come
// from any.
package ws
