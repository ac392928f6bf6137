package orchestrator

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	largeFrame     = 64 << 10         // bytes; a larger message counts as large
	largeTimeout   = 30 * time.Second // within which the rest of a large message must arrive
	maxLargeFrames = 256 << 20        // bytes of large messages that a replica reads and decodes at a time
)

// listen passes messages to the conversation until the connection or the conversation ends.
func (s *socket) listen() error {
	for {
		kind, reader, err := s.ws.Reader(context.Background())
		if err != nil {
			return err
		}
		message, err := s.decode(kind, reader)
		if lost := (*lostError)(nil); errors.As(err, &lost) {
			return lost.err
		}
		s.handle(func(c *conversation) effects { return c.receive(message, err) })
		if s.hasLeft() {
			return nil
		}
	}
}

func (s *socket) hasLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// lostError is an error of the connection, not of one message.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }

// decode reads and decodes a message. A replica reads and decodes few large messages at a time; the others wait.
func (s *socket) decode(kind websocket.MessageType, r io.Reader) (message any, err error) {
	small := smallBuffers.Get().(*[]byte)
	defer smallBuffers.Put(small)
	n, err := io.ReadFull(r, *small)
	switch err { // a bare error means the end of the message, a wrapped one the end of the connection
	case io.EOF, io.ErrUnexpectedEOF:
		return receive(kind, (*small)[:n])
	case nil:
		return s.decodeLarge(kind, *small, r)
	}
	return nil, &lostError{err}
}

// decodeLarge reads the rest of a message that begins with start.
func (s *socket) decodeLarge(kind websocket.MessageType, start []byte, r io.Reader) (message any, err error) {
	if err := s.largeFrames.Acquire(s.lanes, maxFrameBytes); err != nil {
		return nil, &lostError{err}
	}
	defer s.largeFrames.Release(maxFrameBytes)
	late := time.AfterFunc(largeTimeout, func() { s.lost(errors.New("a large message did not arrive in time")) })
	defer late.Stop()
	all := append(make([]byte, 0, maxFrameBytes+1), start...)
	for {
		n, err := r.Read(all[len(all):cap(all)])
		all = all[:len(all)+n]
		switch err { // as above
		case nil:
		case io.EOF:
			return receive(kind, all)
		default:
			return nil, &lostError{err}
		}
	}
}

var smallBuffers = sync.Pool{New: func() any { b := make([]byte, largeFrame); return &b }}
