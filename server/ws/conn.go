package ws

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Conn is a connection. Make it with [Accept]. Its methods are safe for concurrent use, but for the rule of package ws
// about readers and writers.
type Conn struct {
	socket       *websocket.Conn
	corkedConn   *cork
	writeTimeout time.Duration
	messagesRead atomic.Int64
	unreadRest   io.Reader // the rest of a first message that was too long; for the goroutine that reads

	mu       sync.Mutex
	isEnding bool // EndWithin has set the last deadline
}

// WriteMessage writes a message. A connection on which that takes longer than the write timeout is cut. Errors: the
// connection has ended.
func (c *Conn) WriteMessage(kind websocket.MessageType, message []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.writeTimeout)
	defer cancel()
	return c.socket.Write(ctx, kind, message)
}

// WriteBurst lets a function write many messages, each within the write timeout, in few system calls.
func (c *Conn) WriteBurst(writeAll func(b *Burst) error) error {
	// One timer for the burst, set again after each message: a context for each would cost more than the write.
	b := &Burst{conn: c, cutTimer: time.AfterFunc(c.writeTimeout, c.Cut)}
	defer b.cutTimer.Stop()
	c.corkedConn.holdFrames()
	if err := writeAll(b); err != nil {
		return err
	}
	return c.corkedConn.flushHeld()
}

// Burst writes messages that leave together.
type Burst struct {
	conn     *Conn
	cutTimer *time.Timer // cuts the connection
}

// WriteMessage writes a message. Errors: the connection has ended.
func (b *Burst) WriteMessage(kind websocket.MessageType, message []byte) error {
	err := b.conn.socket.Write(context.Background(), kind, message)
	b.cutTimer.Reset(b.conn.writeTimeout)
	return err
}

// EndWithin begins the end of the connection: what is still written, the close frame and the answer to it must pass
// within d. From now on [Reader.ReadMessage] returns [ErrEnding]. Only the first call counts.
func (c *Conn) EndWithin(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isEnding {
		c.isEnding = true
		_ = c.corkedConn.SetDeadline(time.Now().Add(d)) // an error means that it is closed already
	}
}

// Close sends a close frame and waits for that of the client. It sets the deadline of [Conn.EndWithin], because the
// library has none while it waits for the rest of a message. How the client closes does not matter.
func (c *Conn) Close(code websocket.StatusCode, reason string, within time.Duration) {
	c.EndWithin(within)
	_ = c.socket.Close(code, reason)
}

// Cut ends the connection without a close frame.
func (c *Conn) Cut() { _ = c.socket.CloseNow() }

// ErrEnding is the error of reading after [Conn.EndWithin].
var ErrEnding = errors.New("the connection is being closed")

// limitReading sets the deadline of reading; the zero time removes it.
func (c *Conn) limitReading(deadline time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isEnding {
		return ErrEnding
	}
	return c.corkedConn.SetReadDeadline(deadline)
}

// BreaksProtocol reports whether an error of reading means that the client broke the rules of WebSockets, rather than
// that the connection has ended. Its text may quote what the client sent.
func BreaksProtocol(err error) bool {
	var failed *net.OpError
	return err != nil && websocket.CloseStatus(err) < 0 && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) &&
		!errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrEnding) && !errors.As(err, &failed)
}
