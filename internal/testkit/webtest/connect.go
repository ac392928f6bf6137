package webtest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// Dial makes a TCP connection, which is closed when the test ends.
func Dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// DialWebSocket connects a client, which reads messages of any size, until the test ends. It returns the connection,
// and the answer of the handshake without a body; of a handshake that is refused nil, and the answer with its body. The
// test fails if there is no answer. The options may be nil.
func DialWebSocket(t testing.TB, url string, o *websocket.DialOptions) (*websocket.Conn, Answer) {
	t.Helper()
	conn, res, err := websocket.Dial(t.Context(), url, o) //nolint:bodyclose // its body needs no closing
	require.NotNil(t, res, "%v", err)
	if err != nil {
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return nil, Answer{res.StatusCode, res.Header, string(body)}
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(-1)
	return conn, Answer{Status: res.StatusCode, Header: res.Header}
}

// ServeWebSocket starts a server until the test ends, and returns its URL. A function serves each connection, which is
// cut when the function returns. The options may be nil.
func ServeWebSocket(t testing.TB, o *websocket.AcceptOptions,
	serve func(ws *websocket.Conn, r *http.Request)) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, o)
		if err != nil {
			return // the client has left
		}
		defer func() { _ = ws.CloseNow() }()
		serve(ws, r)
	}))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http")
}
