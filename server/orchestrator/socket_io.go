package orchestrator

import (
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/server/ws"
)

// Reading and writing.

// messageLimits bound what the agents of a replica send: of large messages, 256 MiB are read and decoded at a time.
var messageLimits = ws.Limits{Small: 64 << 10, Large: maxFrameBytes, LargeAtOnce: 256 << 20,
	LargeWithin: 30 * time.Second}

// listen passes messages to the conversation until the connection or the conversation ends.
func (s *socket) listen() error {
	for !s.hasLeft() {
		err := s.replica.server.messages.Read(s.replica.lanes, s.conn,
			func(kind websocket.MessageType, message []byte) {
				decoded, err := receive(kind, message)
				s.handle(func(c *conversation) effects { return c.receive(decoded, err) })
			})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *socket) hasLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasEnded
}

func (s *socket) runWriter() {
	s.protect("agent writer", func() error {
		s.write()
		return nil
	})
}

// write sends the outbox, and then the close frame if the connection ends. Only this goroutine writes messages.
func (s *socket) write() {
	for {
		frames, closing := s.unsent()
		if err := s.writeAll(frames); err != nil {
			s.cutLost(err)
			return
		}
		switch {
		case closing != nil:
			s.replica.server.metrics.closed(closing.code)
			s.conn.Close(closing.code, closing.reason, closeTimeout)
			return
		case len(frames) == 0:
			return
		}
	}
}

func (s *socket) writeAll(frames [][]byte) error {
	if len(frames) == 0 {
		return nil
	}
	return s.conn.WriteBurst(func(b *ws.Burst) error {
		for _, frame := range frames {
			if err := b.Write(websocket.MessageBinary, frame); err != nil {
				return err
			}
		}
		return nil
	})
}

// unsent takes all frames from the outbox. If there are none, the writer must return.
func (s *socket) unsent() (frames [][]byte, closing *violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames, s.outbox = s.outbox, nil
	// Under the lock under which frames are queued: one that comes now starts another writer.
	s.isWriting = len(frames) > 0 || s.closeFrame != nil
	return frames, s.closeFrame
}
