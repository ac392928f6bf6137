package orchestrator

import (
	"context"

	"github.com/coder/websocket"
)

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
		for _, frame := range frames {
			if err := s.writeFrame(frame); err != nil {
				s.lost(err)
				return
			}
		}
		switch {
		case closing != nil:
			s.metrics.closed(closing.code)
			closeSocket(s.ws, s.conn, closing.code, closing.reason)
			return
		case len(frames) == 0:
			return
		}
	}
}

// unsent takes all frames from the outbox. If there are none, the writer must return.
func (s *socket) unsent() (frames [][]byte, closing *violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames, s.outbox = s.outbox, nil
	s.writes = len(frames) > 0 || s.closing != nil
	return frames, s.closing
}

func (s *socket) writeFrame(frame []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return s.ws.Write(ctx, websocket.MessageBinary, frame)
}
