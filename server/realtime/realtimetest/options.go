package realtimetest

import "net"

// Options say how a client connects. Only URL is required.
type Options struct {
	URL       string   // ws://host:port/any/path
	Project   string   // "" means anonymous, as in the SDK
	Token     string   // "": none
	Session   string   // to resume; "": none
	Codecs    []string // nil means msgpack and json, as in the SDK
	NeverAcks bool     // the client acks nothing and asks for nothing, as scripts do
	Foreign   bool     // the client orders keys by another locale: checksums of states with several keys differ

	// Late: the client may read handshake.ok late, so that a frame right behind it is no violation. For servers that do
	// not wait for a loaded machine.
	Late bool
	// Wrap replaces the TCP connection below the WebSocket, so that a test decides how it is read and written; nil: it
	// is used as it is.
	Wrap func(net.Conn) net.Conn
}
