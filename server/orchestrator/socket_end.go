package orchestrator

import (
	"context"
	"log/slog"

	"github.com/coder/websocket"
)

// The end of a connection.

// closeWith sends a close frame, unless the library has sent one, and waits for the close frame of the other side.
func (s *socket) closeWith(code websocket.StatusCode, err error) {
	if s.markLost(err) {
		s.replica.server.metrics.countClose(code)
		s.conn.Close(code, "", closeTimeout)
	}
}

// markLost marks the connection as lost. It returns false if the connection was already ending.
func (s *socket) markLost(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasEnded {
		return false
	}
	s.log.LogAttrs(context.Background(), slog.LevelDebug, "connection of an agent lost", endAttr(err))
	s.queueLeave()
	return true
}

// endAttr describes the end of a connection for the log, without the reason of a close frame: the agent chooses it.
func endAttr(err error) slog.Attr {
	if code := websocket.CloseStatus(err); code >= 0 {
		return slog.Int("code", int(code))
	}
	return slog.Any("error", err)
}

// cutLost cuts a connection that can no longer be used.
func (s *socket) cutLost(err error) {
	if s.markLost(err) {
		s.replica.server.metrics.countClose(websocket.StatusAbnormalClosure)
		s.conn.Cut()
	}
}

// logEnd logs why the director closes a connection. A replica that stops closes all of them.
func (s *socket) logEnd() {
	level := slog.LevelInfo
	if s.closeFrame.closeReason == reasonStopped {
		level = slog.LevelDebug
	}
	s.log.LogAttrs(context.Background(), level, "connection of an agent closed",
		slog.Int("code", int(s.closeFrame.closeCode)), slog.String("cause", s.closeFrame.cause))
}

// queueLeave stops the ticks, and queues the last job, as soon as the connection begins to end. A replica that stops
// leaves the agents' rows to other replicas. It is called with mu locked.
func (s *socket) queueLeave() {
	if s.hasEnded {
		return
	}
	s.hasEnded = true
	if s.tickTimer != nil {
		s.tickTimer.Stop()
	}
	// An agent without a full state has no row that could leave.
	if s.conversation.takeClose() && !s.replica.sockets.IsClosed() {
		s.jobs.pushJob(leaveJob{})
	}
	s.startLane()
}

// cutOnPanic cuts the connection if fn panics, also while it is being closed.
func (s *socket) cutOnPanic(goroutine string, fn func() error) {
	if err := s.replica.server.guard.Do(goroutine, fn); err != nil {
		s.cutLost(err)
		s.conn.Cut() // cutLost does nothing on a connection that is being closed
	}
}
