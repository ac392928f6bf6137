package orchestrator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/internal/base/panics"
)

// The end of a connection.

// fail ends the connection after reading has ended.
func (s *socket) fail(err error) {
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		s.closeWith(websocket.StatusMessageTooBig, err)
	case isProtocolError(err): // It may quote what the agent sent, so it is not logged.
		s.closeWith(websocket.StatusProtocolError, errBrokenFrame)
	default:
		s.lost(err)
	}
}

var errBrokenFrame = errors.New("a frame breaks the rules of WebSockets")

// isProtocolError reports whether the other side broke the rules of WebSockets, rather than closing the connection.
func isProtocolError(err error) bool {
	var failed *net.OpError
	return err != nil && websocket.CloseStatus(err) < 0 && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) &&
		!errors.As(err, &failed) && !errors.Is(err, panics.ErrInternal)
}

// closeWith sends a close frame, unless the library has sent one, and waits for the close frame of the other side.
func (s *socket) closeWith(code websocket.StatusCode, err error) {
	if s.lose(err) {
		s.metrics.closed(code)
		closeSocket(s.ws, s.conn, code, "")
	}
}

// lose marks the connection as lost. It returns false if the connection was already ending.
func (s *socket) lose(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return false
	}
	s.log.LogAttrs(context.Background(), slog.LevelDebug, "connection of an agent lost", endOf(err))
	s.leave()
	return true
}

// endOf describes the end of a connection for the log, without the reason of a close frame: the agent chooses it.
func endOf(err error) slog.Attr {
	if code := websocket.CloseStatus(err); code >= 0 {
		return slog.Int("code", int(code))
	}
	return slog.Any("error", err)
}

// lost cuts a connection that can no longer be used.
func (s *socket) lost(err error) {
	if s.lose(err) {
		s.metrics.closed(websocket.StatusAbnormalClosure)
		_ = s.ws.CloseNow()
	}
}

// logEnd logs why the director closes a connection. A replica that stops closes all of them.
func (s *socket) logEnd() {
	level := slog.LevelInfo
	if s.closing.reason == reasonStopped {
		level = slog.LevelDebug
	}
	s.log.LogAttrs(context.Background(), level, "connection of an agent closed", slog.Int("code", int(s.closing.code)), slog.String("cause", s.closing.cause))
}

// leave queues the last job as soon as the connection begins to end. A replica that stops leaves the agents' rows to other replicas. It is
// called with mu locked.
func (s *socket) leave() {
	if s.left {
		return
	}
	s.left = true
	if s.tick != nil {
		s.tick.Stop()
		s.ping.Stop()
	}
	if s.conversation.closed() && !s.ending.Load() {
		s.queue.push(leaveJob{})
	}
	s.startLane()
}
