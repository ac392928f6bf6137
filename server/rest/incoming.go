package rest

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// receiveGrace is how long a server that stops waits for requests that are on their way.
	receiveGrace = 250 * time.Millisecond
	// restOfBody is how long the rest of a body may take once its request is decided. net/http reads it before it sends
	// the answer, so that a client which sends first and reads then gets the answer.
	restOfBody = 400 * time.Millisecond
)

// incoming is what a server is receiving: connections that have not sent the headers of their first request, and bodies
// whose end has not arrived. Safe for concurrent use.
type incoming struct {
	mu         sync.Mutex
	conns      map[net.Conn]struct{}
	bodies     map[*incomingBody]struct{}
	isStopping bool // stopReceiving was called
}

func newIncoming() *incoming {
	return &incoming{conns: map[net.Conn]struct{}{}, bodies: map[*incomingBody]struct{}{}}
}

// watchConn is the hook [http.Server.ConnState].
func (in *incoming) watchConn(conn net.Conn, state http.ConnState) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(in.conns, conn)
	case in.isStopping:
		_ = conn.Close()
	default:
		in.conns[conn] = struct{}{}
	}
}

// beginBody begins to receive a body.
func (in *incoming) beginBody(w http.ResponseWriter, body io.ReadCloser) *incomingBody {
	b := &incomingBody{ReadCloser: body, control: http.NewResponseController(w), source: in}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.bodies[b] = struct{}{}
	if in.isStopping {
		b.endBy(time.Now().Add(receiveGrace))
	}
	return b
}

// stopReceiving ends everything that has not arrived, for which [http.Server.Shutdown] would wait.
func (in *incoming) stopReceiving() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.isStopping = true
	for conn := range in.conns {
		_ = conn.Close()
	}
	for b := range in.bodies {
		b.endBy(time.Now())
	}
}

// incomingBody is the body of a request, for one goroutine. The server's read deadline holds until the end of the body
// has arrived; then net/http removes the deadline, and reads on to notice that the client disconnects. So no handler may
// set a later deadline.
type incomingBody struct {
	io.ReadCloser

	control  *http.ResponseController
	source   *incoming
	hasEnded bool // its end or an error was read
}

// Read implements io.Reader.
func (b *incomingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.endReceiving()
	}
	return n, err
}

// endReceiving records that nothing of the body is awaited any more, and reports whether the server stops.
func (b *incomingBody) endReceiving() (isStopping bool) {
	b.source.mu.Lock()
	defer b.source.mu.Unlock()
	b.hasEnded = true
	delete(b.source.bodies, b)
	return b.source.isStopping
}

// boundRest bounds how long the rest of a body may take that the handler has not read.
func (b *incomingBody) boundRest() {
	if b.hasEnded {
		return
	}
	// A server that stops has set a time before.
	if isStopping := b.endReceiving(); !isStopping {
		b.endBy(time.Now().Add(restOfBody))
	}
}

// endBy sets the time by which the body must have arrived. Errors mean that the connection has ended, or has no
// deadlines, in tests.
func (b *incomingBody) endBy(at time.Time) { _ = b.control.SetReadDeadline(at) }
