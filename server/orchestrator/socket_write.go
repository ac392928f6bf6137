package orchestrator

import (
	"github.com/coder/websocket"

	"github.com/lattice-director/director/server/ws"
)

func (s *socket) runWriter() {
	s.cutOnPanic("agent writer", func() error {
		s.writeOutbox()
		return nil
	})
}

// writeOutbox sends the outbox, and then the close frame if the connection ends. Only this goroutine writes messages.
func (s *socket) writeOutbox() {
	for {
		frames, closing := s.takeUnsent()
		if err := s.writeAll(frames); err != nil {
			s.cutLost(err)
			return
		}
		switch {
		case closing != nil:
			s.replica.server.metrics.countClose(closing.closeCode)
			s.conn.Close(closing.closeCode, closing.closeReason, closeTimeout)
			return
		case len(frames) == 0:
			return
		}
	}
}

func (s *socket) writeAll(frames [][]byte) error {
	// Only a close frame is due.
	if len(frames) == 0 {
		return nil
	}
	return s.conn.WriteBurst(func(b *ws.Burst) error {
		for _, frame := range frames {
			if err := b.WriteMessage(websocket.MessageBinary, frame); err != nil {
				return err
			}
		}
		return nil
	})
}

// takeUnsent takes all frames from the outbox. If there are none, the writer must return.
func (s *socket) takeUnsent() (frames [][]byte, closing *violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames, s.outbox = s.outbox, nil
	// The same lock is held while frames are queued: a frame that comes after this starts another writer.
	s.isWriting = len(frames) > 0 || s.closeFrame != nil
	return frames, s.closeFrame
}
