package ws

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/semaphore"
)

// Limits bound the messages that the connections of a face send, beside [Options.MaxMessage].
type Limits struct {
	SmallBytes int // bytes; a longer message counts as large
	LargeBytes int // bytes of the largest message
	// bytes of large messages that are read and decoded at a time, each counted as LargeBytes; the others wait
	LargeAtOnce int64
	SmallWithin time.Duration // for a message to arrive, once it has begun; 0: no limit
	LargeWithin time.Duration // for the rest of a large message, once its turn has come; 0: SmallWithin's goes on
}

// Reader reads the messages of many connections in bounded memory. Safe for concurrent use.
type Reader struct {
	limits      Limits
	largeBudget *semaphore.Weighted
	buffers     sync.Pool // of *[]byte
}

// NewReader returns a reader for all connections of a face.
func NewReader(l Limits) *Reader {
	r := &Reader{limits: l, largeBudget: semaphore.NewWeighted(l.LargeAtOnce)}
	r.buffers.New = func() any { return new(make([]byte, 0, 512)) }
	return r
}

// ReadMessage waits for a message and passes it to handle, which must not keep it. A large message is part of
// LargeAtOnce until handle returns, and waits until there is room for it, or until ctx ends. Errors: the connection has
// ended, [ErrEnding], ctx's.
func (r *Reader) ReadMessage(ctx context.Context, c *Conn,
	handle func(kind websocket.MessageType, message []byte)) error {
	// Most connections wait here, for any time, so they have no deadline and no buffer yet.
	kind, rest, err := c.socket.Reader(context.Background())
	if err != nil {
		return err
	}
	buffer := r.buffers.Get().(*[]byte)
	defer r.putBuffer(buffer)
	if r.limits.SmallWithin > 0 {
		if err := c.limitReading(time.Now().Add(r.limits.SmallWithin)); err != nil {
			return err
		}
	}
	isWhole, err := readUpTo(buffer, r.limits.SmallBytes, rest)
	if err != nil {
		return err
	}
	if !isWhole {
		// While this waits, TCP leaves the rest of the message with the client. The time SmallWithin is not stopped meanwhile,
		// unless readRest sets another.
		if err := r.largeBudget.Acquire(ctx, int64(r.limits.LargeBytes)); err != nil {
			return err
		}
		defer r.largeBudget.Release(int64(r.limits.LargeBytes))
		if err := r.readRest(c, buffer, rest); err != nil {
			return err
		}
	}
	if err := c.limitReading(time.Time{}); err != nil { // a client may be silent for as long as it likes
		return err
	}
	c.messagesRead.Add(1)
	handle(kind, *buffer)
	return nil
}

// readRest reads the rest of a large message. The library ends a message that is longer than MaxMessage.
func (r *Reader) readRest(c *Conn, buffer *[]byte, rest io.Reader) error {
	if r.limits.LargeWithin > 0 {
		if err := c.limitReading(time.Now().Add(r.limits.LargeWithin)); err != nil {
			return err
		}
	}
	// the library reads a byte beyond its limit, and notices with the next
	_, err := readUpTo(buffer, r.limits.LargeBytes+2, rest)
	return err
}

// putBuffer returns a buffer to the pool, unless it is large.
func (r *Reader) putBuffer(buffer *[]byte) {
	if cap(*buffer) <= 2*r.limits.SmallBytes {
		*buffer = (*buffer)[:0]
		r.buffers.Put(buffer)
	}
}

// readUpTo appends what a message holds until the buffer has limit bytes. It reports whether the message has ended. The
// buffer grows to twice its size, and not beyond the limit.
func readUpTo(buffer *[]byte, limit int, message io.Reader) (ended bool, err error) {
	for len(*buffer) < limit {
		if len(*buffer) == cap(*buffer) {
			grown := make([]byte, len(*buffer), min(2*cap(*buffer), limit)) // append would grow it beyond the limit
			copy(grown, *buffer)
			*buffer = grown
		}
		free := (*buffer)[len(*buffer):min(cap(*buffer), limit)]
		n, err := message.Read(free)
		*buffer = (*buffer)[:len(*buffer)+n]
		switch err { // a bare error means the end of the message, a wrapped one that of the connection
		case nil:
		case io.EOF:
			return true, nil
		default:
			return false, err
		}
	}
	return false, nil
}

// ReadFirst reads the first message. Of one that is longer than limit it returns limit+1 bytes, and [Conn.Discard]
// drops the rest. Errors: the connection has ended, and os.ErrDeadlineExceeded after the deadline.
func (c *Conn) ReadFirst(deadline time.Time, limit int) (kind websocket.MessageType, message []byte, err error) {
	if err := c.limitReading(deadline); err != nil {
		return 0, nil, err
	}
	kind, rest, err := c.socket.Reader(context.Background())
	if err != nil {
		return 0, nil, err
	}
	if message, err = io.ReadAll(io.LimitReader(rest, int64(limit)+1)); err != nil {
		return 0, nil, err
	}
	if len(message) > limit {
		c.unreadRest = rest
		return kind, message, nil
	}
	return kind, message, c.limitReading(time.Time{})
}

// StopReading makes a reader return os.ErrDeadlineExceeded now.
func (c *Conn) StopReading() { _ = c.limitReading(time.Now()) }

// Discard reads and drops messages until the connection ends, and returns why.
func (c *Conn) Discard() (err error) {
	rest := c.unreadRest
	for {
		if rest != nil {
			if _, err := io.Copy(io.Discard, rest); err != nil {
				return err
			}
		}
		if _, rest, err = c.socket.Reader(context.Background()); err != nil {
			return err
		}
	}
}
