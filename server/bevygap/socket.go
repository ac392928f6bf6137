package bevygap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/ws"
)

const (
	// maxReceived bounds what a client may send on a connection, in bytes: it sends one message, and answers pings.
	maxReceived = 64 << 10
	goodbye     = "Goodbye" // the reason with which bevygap's server closes
)

// serveSocket serves a WebSocket. It returns when the socket is closed. A socket takes no slot of a gate, and no
// deadline of a call.
func (f *Face) serveSocket(c *gin.Context) {
	if !c.IsWebsocket() {
		rest.Fail(c, &rest.Problem{Status: http.StatusUpgradeRequired, Code: "upgrade_required",
			Title: "Upgrade required", Detail: "This path speaks WebSocket only."})
		return
	}
	who, crowded, leave, ok := f.takeSlot(c)
	if !ok {
		return
	}
	defer leave()
	s := f.upgradeConn(c)
	if s == nil {
		return
	}
	ctx, left := context.WithCancelCause(c.Request.Context())
	defer left(nil)
	// Reading goes on beside the conversation: it answers pings, and notices that the client has closed.
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		left(f.guard.Do("bevygap reader", s.readFirst))
	}()
	stopPings := s.conn.KeepAlive(f.pingOptions(), func(bool) (goOn bool) {
		left(fmt.Errorf("%w: it answers no pings", errLeft))
		return false
	})
	defer func() {
		// The cut ends the reading. A close frame was sent before, by the function that ended the request.
		s.conn.Cut()
		stopPings()
		<-reading
	}()
	if crowded != nil {
		f.refuseSocket(ctx, s, crowded)
		return
	}
	f.serveFirst(ctx, s, who, c)
}

// serveFirst waits for the request and serves it.
func (f *Face) serveFirst(ctx context.Context, s *socket, who caller, c *gin.Context) {
	r, failed := f.awaitRequest(ctx, s)
	if failed != nil || ctx.Err() != nil {
		f.refuseSocket(ctx, s, failed)
		return
	}
	f.serveConversation(ctx, &conversation{request: r, choice: f.readChoice(c, r.clientIP), caller: who, outlet: s})
	s.closeConn()
}

// refuseSocket ends a socket without a conversation. failed is nil if the client has left.
func (f *Face) refuseSocket(ctx context.Context, s *socket, failed *failure) {
	e := ending{failure: failed}
	// bevygap's client waits for ever on a socket that closes without a last frame.
	if failed != nil {
		_ = s.sendLast(e) // nothing else is to be done for a client that is gone
	}
	f.countEnding(ctx, e)
	s.closeConn()
}

// awaitRequest waits for the only message that matters. It returns no failure if the client has left.
func (f *Face) awaitRequest(ctx context.Context, s *socket) (request, *failure) {
	late := time.NewTimer(f.options.firstWithin)
	defer late.Stop()
	select {
	case m := <-s.firstMessage:
		r, err := m.decodeRequest()
		if err != nil {
			return r, newFailure(http.StatusBadRequest, "%s", err)
		}
		return r, nil
	case <-late.C:
		return request{}, newFailure(http.StatusBadRequest, "there was no request within %s",
			durationText(f.options.firstWithin))
	case <-f.faceContext.Done():
		return request{}, newFailure(http.StatusServiceUnavailable, "this replica stops: ask again")
	case <-ctx.Done():
		return request{}, nil
	}
}

// readChoice reads the choices of a request; clientIP is that of its message.
func (f *Face) readChoice(c *gin.Context, clientIP string) choice {
	from := locatingAddress(parseAddress(c.ClientIP()), f.options.TrustClientIP, c.Query("client_ip"), clientIP)
	return choice{region: c.Query("region"), mode: c.Query("mode"), clientAddress: from}
}

// upgradeConn upgrades a request to a WebSocket. It returns nil if the request is not a valid handshake; the error
// answer is already sent then. refuseOrigin has checked the Origin.
func (f *Face) upgradeConn(c *gin.Context) *socket {
	conn, err := ws.Accept(c.Writer, c.Request, ws.Options{
		MaxMessage: -1, WriteTimeout: f.options.writeTimeout, // read and the connection bound what is read
		WrapConn: func(conn net.Conn) net.Conn { return &boundedConn{Conn: conn, bytesLeft: maxReceived} },
	})
	if err != nil { // The error quotes headers of the caller, so it is not logged.
		return nil
	}
	return &socket{conn: conn, firstMessage: make(chan message, 1), closeWithin: f.options.writeTimeout}
}

// pingOptions returns the pings that detect a client that vanished without a close frame: its request would keep
// servers starting until its time is over. Progress reports do not detect it, since the kernel buffers them for
// minutes.
func (f *Face) pingOptions() ws.Pings {
	return ws.Pings{Every: f.options.pingEvery, Within: f.options.pongWithin, Guard: f.guard, Goroutine: "bevygap ping"}
}

// boundedConn fails when too much was received. It counts bytes and not messages, so that pings and fragments count,
// too. One goroutine at a time reads.
type boundedConn struct {
	net.Conn

	bytesLeft int
}

var errFlood = errors.New("the client sends too much")

// Read implements net.Conn.
func (c *boundedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytesLeft -= n
	if c.bytesLeft < 0 {
		return 0, errFlood
	}
	return n, err
}

// message is the first message of a client.
type message struct {
	kind websocket.MessageType
	text []byte // at most a byte more than allowed
}

func (m message) decodeRequest() (request, error) {
	if m.kind != websocket.MessageText {
		return request{}, errors.New("the request must be a text message")
	}
	return decodeRequest(m.text)
}

// socket is the WebSocket of a client. One goroutine reads, and another one writes.
type socket struct {
	conn         *ws.Conn
	firstMessage chan message
	closeWithin  time.Duration
}

// readFirst passes on the first message and drops the others, until the connection ends. Errors: errLeft, always.
func (s *socket) readFirst() error {
	kind, text, err := s.conn.ReadFirst(time.Time{}, maxFrame)
	if err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	// The channel has room for one message, so that a conversation that never reads it blocks nothing.
	s.firstMessage <- message{kind, text}
	return fmt.Errorf("%w: %w", errLeft, s.conn.Discard())
}

// sendFrame implements outlet.
func (s *socket) sendFrame(frame []byte) error {
	return s.conn.WriteMessage(websocket.MessageText, frame)
}

// sendLast implements outlet.
func (s *socket) sendLast(e ending) error { return s.sendFrame(e.lastFrame()) }

// closeConn closes the socket, and waits for a while until the client has closed, too. It does nothing if the client is
// gone.
func (s *socket) closeConn() { s.conn.Close(websocket.StatusNormalClosure, goodbye, s.closeWithin) }
