package ws

import (
	"bufio"
	"bytes"
	"cmp"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// bufferBytes is the size of each of the two buffers of a connection. Larger reads and writes bypass them.
const bufferBytes = 1 << 10

// Options configure a connection. MaxMessage is required.
type Options struct {
	Subprotocols []string      // that may be selected, in order of preference
	MaxMessage   int64         // bytes of a message; a longer one is closed with 1009. Below 0: no limit
	WriteTimeout time.Duration // of a message; 0 means 10 s
	// wraps the network connection, to count or to bound its bytes; nil: nothing does
	WrapConn func(conn net.Conn) net.Conn
}

const defaultWriteTimeout = 10 * time.Second

// IsUpgrade reports whether a request asks for a WebSocket.
func IsUpgrade(r *http.Request) bool {
	return hasToken(r.Header, "Connection", "upgrade") && hasToken(r.Header, "Upgrade", "websocket")
}

func hasToken(h http.Header, name, token string) bool {
	for entry := range strings.SplitSeq(strings.Join(h.Values(name), ","), ",") {
		if strings.EqualFold(strings.TrimSpace(entry), token) {
			return true
		}
	}
	return false
}

// Accept upgrades a request. It checks no Origin: the caller does, before. Errors: the request is no valid handshake,
// and its client has its answer; the error quotes headers of the client, so it must not be logged.
func Accept(w http.ResponseWriter, r *http.Request, o Options) (*Conn, error) {
	h := &hijacker{ResponseWriter: w, wrapConn: o.WrapConn}
	socket, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		Subprotocols:       o.Subprotocols,
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	socket.SetReadLimit(o.MaxMessage)
	return newConn(socket, h.corkedConn, o), nil
}

// hijacker is a ResponseWriter that keeps the connection it hijacks, which needs deadlines and a cork, and replaces the
// buffers of the HTTP server by smaller ones.
type hijacker struct {
	http.ResponseWriter

	wrapConn   func(net.Conn) net.Conn
	corkedConn *cork // after Hijack
}

// WriteHeaderNow sends the headers of a gin.ResponseWriter, which otherwise waits for the body. The library calls it
// before Hijack.
func (h *hijacker) WriteHeaderNow() {
	if lazy, is := h.ResponseWriter.(interface{ WriteHeaderNow() }); is {
		lazy.WriteHeaderNow()
	}
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	network, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if h.wrapConn != nil {
		network = h.wrapConn(network)
	}
	// The cork is around the wrapper, which thus sees the writes that go over the network.
	h.corkedConn = &cork{Conn: network}
	early, _ := buffers.Reader.Peek(buffers.Reader.Buffered()) // never fails: it is buffered
	in := bufio.NewReaderSize(bytes.NewReader(bytes.Clone(early)), max(bufferBytes, len(early)))
	_, _ = in.Peek(len(early)) // the library keeps what is buffered, and reads the rest from the connection
	return network, bufio.NewReadWriter(in, bufio.NewWriterSize(h.corkedConn, bufferBytes)), nil
}

func newConn(socket *websocket.Conn, network *cork, o Options) *Conn {
	return &Conn{socket: socket, corkedConn: network, writeTimeout: cmp.Or(o.WriteTimeout, defaultWriteTimeout)}
}
