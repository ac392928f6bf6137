package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// slowCall is a call over gRPC whose request never arrives whole.
type slowCall struct {
	conn  net.Conn
	frame *http2.Framer
	drip  []byte // bytes of the request that follow, one by one
}

// slowCalls are the ways in which a call can be slow, each with the bytes of its message that are sent at once.
var slowCalls = map[string]struct {
	message []byte
	drip    []byte
}{
	"headers alone":          {},
	"half a length":          {message: []byte{0, 0}},
	"half a message":         {message: []byte{0, 0, 0, 0, 100, 10, 50}},
	"a message byte by byte": {drip: append([]byte{0, 0, 0, 4, 0}, make([]byte, 1024)...)},
}

// openCall connects to the listener of gRPC, and sends the beginning of a call.
func (b *bundle) openCall(method string, message, drip []byte) *slowCall {
	b.t.Helper()
	conn := webtest.Dial(b.t, b.server.GRPCAddrs()[0].String())
	must.Get(io.WriteString(conn, http2.ClientPreface))(b.t)
	c := &slowCall{conn: conn, frame: http2.NewFramer(conn, conn), drip: drip}
	require.NoError(b.t, c.frame.WriteSettings())
	var fields bytes.Buffer
	encoder := hpack.NewEncoder(&fields)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "director"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		require.NoError(b.t, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	require.NoError(b.t, c.frame.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields.Bytes(), EndHeaders: true}))
	if len(message) > 0 {
		require.NoError(b.t, c.frame.WriteData(1, false, message))
	}
	return c
}

// untilEnded goes on sending, and returns how long the server has left the call, or a connection without one, open.
func (c *slowCall) untilEnded(atMost time.Duration) time.Duration {
	began := time.Now()
	_ = c.conn.SetDeadline(began.Add(atMost))
	go func() {
		for _, next := range c.drip {
			if c.frame.WriteData(1, false, []byte{next}) != nil {
				return
			}
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // the pace of the slow client
		}
	}()
	for {
		frame, err := c.frame.ReadFrame()
		if err != nil {
			return time.Since(began)
		}
		switch f := frame.(type) {
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				return time.Since(began)
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return time.Since(began)
		}
	}
}

// forEachSlowCall opens all slow calls to all methods, and connections that do not even begin to speak HTTP/2.
func (b *bundle) forEachSlowCall(do func(what string, c *slowCall)) {
	b.t.Helper()
	for _, begun := range []string{"", http2.ClientPreface[:5], http2.ClientPreface} {
		conn := webtest.Dial(b.t, b.server.GRPCAddrs()[0].String())
		must.Get(io.WriteString(conn, begun))(b.t)
		do(fmt.Sprintf("a connection that has sent %q", begun), &slowCall{conn: conn, frame: http2.NewFramer(conn, conn)})
	}
	methods := b.server.GRPCMethods()
	require.NotEmpty(b.t, methods)
	for _, method := range methods {
		for kind, slow := range slowCalls {
			do(method+": "+kind, b.openCall(method, slow.message, slow.drip))
		}
	}
}

// Pins a call over gRPC whose request does not arrive, and that stays for ever. A new method is in this test by being
// registered.
func TestSlowCallsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, everyFace, func(c *config) { c.OpenMatch.CallTimeout = 5 * time.Second })
	const atMost = 30 * time.Second // 10 s, on a machine that runs all tests at once
	var slow sync.WaitGroup
	b.forEachSlowCall(func(what string, c *slowCall) {
		slow.Go(func() {
			if took := c.untilEnded(atMost); took >= atMost {
				t.Errorf("%s: open after %s", what, took)
			}
		})
	})
	b.serveUntilEnd(&slow)
}
