package nats

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/server/rest"
)

// acceptPause is how long the listener rests after an error that passes, such as too many open files.
const acceptPause = 100 * time.Millisecond

// Serve accepts connections until [Server.Stop], or until the listener fails. Errors: the listener's.
func (s *Server) Serve() error {
	for {
		socket, err := s.listener.Accept()
		if err == nil {
			s.connsServed.Go(func() { s.serveSocket(socket) })
			continue
		}
		if s.conns.IsClosed() || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if !isTemporary(err) {
			return err
		}
		wait.For(s.serverContext, acceptPause)
	}
}

func isTemporary(err error) bool {
	temporary, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && temporary.Temporary()
}

// serveSocket serves one connection until it ends.
func (s *Server) serveSocket(socket net.Conn) {
	defer func() { _ = socket.Close() }()
	// The socket is closed without an answer: strangers that fill these slots would fill the slots of refusals as well.
	if !s.handshakeSlots.Take() {
		s.metrics.refusedConns.WithLabelValues("busy").Inc()
		return
	}
	c := s.newConn(socket)
	stop := context.AfterFunc(s.admissionContext,
		func() { _ = socket.Close() }) // below TLS, which may begin at this moment
	defer stop()
	err := s.guard.Do("handshake", c.shakeHands)
	s.handshakeSlots.Release()
	if err != nil {
		s.refuseConn(c, err)
		return
	}
	// A slot is taken after the credential was verified, so that strangers take none, and before the database is asked.
	if !s.serverSlots.Take() {
		s.refuseConn(c, errFull)
		return
	}
	defer s.serverSlots.Release()
	if !s.crowd.enter(c.deployment.ID) {
		s.refuseConn(c, errCrowded)
		return
	}
	defer s.crowd.leave(c.deployment.ID)
	if err := s.guard.Do("handshake", c.judgeDeployment); err != nil {
		s.refuseConn(c, err)
		return
	}
	// If admission has ended, the function above has closed the socket.
	if isAdmitted := stop(); isAdmitted {
		s.serveConn(c)
	}
}

// serveConn serves a connection that was admitted. A panic ends this connection alone.
func (s *Server) serveConn(c *conn) {
	if !s.conns.Add(c.id, c) {
		c.closeSocket()
		return
	}
	defer s.conns.Remove(c.id)
	if err := s.guard.Do("connection", func() error { c.serveOperations(s.serverContext); return nil }); err != nil {
		c.endOnceWith(endInternal)
	}
}

// refuseConn says why, and closes the connection. An address that has sent too many wrong credentials gets no answer.
func (s *Server) refuseConn(c *conn, err error) {
	why, ok := errors.AsType[*refusal](err)
	if !ok { // the handshake was broken off
		s.metrics.refusedConns.WithLabelValues("handshake").Inc()
		s.options.Log.LogAttrs(s.serverContext, slog.LevelDebug, "handshake of a game server over NATS failed",
			slog.String("client", c.clientAddress.String()))
		return
	}
	cause := why.cause
	// Only wrong credentials count. A game server whose deployment is over has a right one.
	if why == errCredential && s.failureLimiter.Take(rest.AddressKey(c.clientAddress)) > 0 {
		cause = "throttled"
	}
	s.metrics.refusedConns.WithLabelValues(cause).Inc()
	if cause == "throttled" || !s.refusalSlots.Take() {
		return
	}
	defer s.refusalSlots.Release()
	s.options.Log.LogAttrs(s.serverContext, slog.LevelWarn, "game server over NATS refused",
		slog.String("client", c.clientAddress.String()), slog.String("cause", cause))
	if why.text != "" {
		_ = c.writeWhole(errorLine(why.text))
	}
	c.lingerThenClose()
}
