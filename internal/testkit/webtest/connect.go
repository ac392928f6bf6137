package webtest

import (
	"net"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// Dial connects to an address, until the test ends.
func Dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// WebSocket connects a client, which reads messages of any size, until the test ends. Without a connection, it returns
// the answer of the handshake, whose body was read, and nil. The options may be nil.
func WebSocket(t testing.TB, url string, o *websocket.DialOptions) (*websocket.Conn, Answer) {
	t.Helper()
	conn, res, err := websocket.Dial(t.Context(), url, o)
	require.NotNil(t, res, "%v", err)
	a := read(t, res)
	if err != nil {
		return nil, a
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(-1)
	return conn, a
}
