package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/server/ws"
)

// serveConn runs the connection until it has ended and its lane has written the last job, or was stopped.
func (s *socket) serveConn() {
	r := s.replica
	defer r.server.agentSlots.Release()
	// Add refuses the connection if the replica has stopped since the handshake.
	if !r.sockets.Add(s.agentID, s) {
		s.conn.Close(closeInvalid, reasonStopped, closeTimeout)
		return
	}
	defer r.sockets.Remove(s.agentID)
	s.log.LogAttrs(context.Background(), slog.LevelDebug, "agent connected", slog.String("key", s.key.fingerprint))
	s.greetAgent()
	s.startTicks()
	stopPings := s.conn.KeepAlive(s.pingOptions(), s.onSilence)
	s.endReading(r.server.guard.Do("agent socket", s.readMessages))
	stopPings()
	// The lane still writes the leave: the replica counts this connection until then.
	s.running.Wait()
}

func (s *socket) pingOptions() ws.Pings {
	return ws.Pings{Every: pingEvery, Within: pongWithin, Guard: s.replica.server.guard, Goroutine: "agent ping"}
}

// onSilence cuts a connection whose agent does not answer pings, whatever else it sends.
func (s *socket) onSilence(bool) (goOn bool) {
	s.cutLost(errors.New("pings are not answered"))
	return false
}

// greetAgent sends the hello and the first poll before anything is read.
func (s *socket) greetAgent() {
	s.mu.Lock()
	s.isWriting = true // This goroutine is the writer.
	s.carryOut(s.conversation.beginPolling())
	s.mu.Unlock()
	s.runWriter()
}

func (s *socket) startTicks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	// If the connection has ended while the hello was sent, nothing would stop a timer that starts now.
	if s.hasEnded {
		return
	}
	s.tickTimer = time.AfterFunc(s.conversation.firstTick(randomFloat()), s.onTick)
}

func (s *socket) onTick() {
	s.cutOnPanic("agent tick", func() error {
		s.handleEvent(func(c *conversation) effects { return c.tickPoll() })
		s.mu.Lock()
		defer s.mu.Unlock()
		// The timer starts again only after the tick, so that ticks of one connection never overlap.
		if !s.hasEnded {
			s.tickTimer.Reset(s.conversation.nextTick(randomFloat()))
		}
		return nil
	})
}

// readMessages passes messages to the conversation until the connection or the conversation ends.
func (s *socket) readMessages() error {
	for !s.hasLeft() {
		err := s.replica.server.messageReader.ReadMessage(s.replica.laneContext, s.conn,
			func(kind websocket.MessageType, message []byte) {
				decoded, err := decodeFrame(kind, message)
				s.handleEvent(func(c *conversation) effects { return c.takeMessage(decoded, err) })
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

// endReading ends the connection after reading has ended.
func (s *socket) endReading(err error) {
	switch {
	// 1009, as upstream closes for a message beyond the limit.
	case errors.Is(err, websocket.ErrMessageTooBig):
		s.closeWith(websocket.StatusMessageTooBig, err)
	case isProtocolError(err): // err may quote what the agent sent, so it is not logged
		s.closeWith(websocket.StatusProtocolError, errBrokenFrame)
	default:
		s.cutLost(err)
	}
}

var errBrokenFrame = errors.New("a frame breaks the rules of WebSockets")

// isProtocolError reports whether the agent broke the rules of WebSockets. A panic of the reader is no fault of the
// agent.
func isProtocolError(err error) bool {
	return ws.BreaksProtocol(err) && !errors.Is(err, panics.ErrInternal)
}
