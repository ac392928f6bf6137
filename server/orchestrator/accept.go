package orchestrator

import (
	"log/slog"
	"net"
	"net/http"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/ws"
)

// serveAgent serves the connection of an agent until it ends.
func (s *Server) serveAgent(w http.ResponseWriter, r *http.Request) {
	// The agents of a replica that has ended all come at once. One that gets 503 comes back after a pause.
	if !s.handshakeSlots.Take() {
		s.metrics.refusedHandshakes.WithLabelValues("busy").Inc()
		writeError(w, errNotReady)
		return
	}
	if agent := s.shakeHands(w, r); agent != nil {
		agent.serveConn()
	}
}

// shakeHands accepts or refuses a request that has a slot of handshakes, as judgeRequest does.
func (s *Server) shakeHands(w http.ResponseWriter, r *http.Request) *socket {
	// Before the connection is served, which may last for days.
	defer s.handshakeSlots.Release()
	shake := &handshake{server: s, writer: w, request: r, offer: offerOf(r.Header)}
	return shake.judgeRequest()
}

// handshake is a request for a WebSocket.
type handshake struct {
	server  *Server
	writer  http.ResponseWriter
	request *http.Request
	offer   offer
}

// judgeRequest accepts or refuses the request. It returns the agent's socket, or nil if the request was refused.
func (h *handshake) judgeRequest() *socket {
	s := h.server
	current := s.currentReplica.Load()
	here := s.options.CheckHere(s.options.Region)
	key, known := s.agentKeys.findKey(h.offer.secret)
	switch {
	// First, since nothing can be said of the key yet: 503 asks the agent to come back, and 4001 says that its key is
	// wrong.
	case current == nil || current.sockets.IsClosed(), !known && !s.agentKeys.isComplete():
		h.rejectRequest("not_ready", errNotReady)
		return nil
	case !known:
		h.refuseKey()
		return nil
	// After the key: only agents learn which cell serves a region.
	case here != nil:
		rest.SetCell(h.writer.Header(), here, fault.ListenerOrchestrator)
		h.rejectRequest("elsewhere", errElsewhere)
		return nil
	// Last, because a slot that was taken has to be given back.
	case !s.agentSlots.Take():
		h.rejectRequest("full", errNotReady)
		return nil
	}
	return h.acceptAgent(current, key)
}

// acceptAgent returns the socket of an agent for which a slot was taken, or nil if the handshake fails.
func (h *handshake) acceptAgent(current *replica, key key) (agent *socket) {
	s := h.server
	// Deferred, so that a handshake that panics gives the slot back as well. Otherwise serveConn does it.
	defer func() {
		if agent == nil {
			s.agentSlots.Release()
		}
	}()
	conn := h.upgradeConn()
	if conn == nil {
		return nil
	}
	if !h.offer.hasSubprotocol {
		s.options.Log.LogAttrs(h.request.Context(), slog.LevelWarn, "agent does not offer the subprotocol "+subprotocol,
			slog.String("key", key.fingerprint))
	}
	return newSocket(current, conn, key)
}

// rejectRequest answers as REST answers errors.
func (h *handshake) rejectRequest(why string, err rejection) {
	h.server.metrics.refusedHandshakes.WithLabelValues(why).Inc()
	writeError(h.writer, err)
}

// refuseKey answers a wrong key with close code 4001. An address that sends too many wrong keys gets an HTTP error
// without an upgrade. Agents with a valid key are not throttled, even if their address is.
func (h *handshake) refuseKey() {
	s, client := h.server, h.server.trustedProxies.Client(h.request)
	// Not the key itself: it may be a valid one with a typing error.
	log := []slog.Attr{slog.String("client", client.String()), slog.Bool("has_key", h.offer.secret != "")}
	s.options.Log.LogAttrs(h.request.Context(), slog.LevelWarn, "agent refused: its key is not known", log...)
	// The attempts before it cost an upgrade and a close frame, which is how an agent learns that its key is wrong.
	if s.failureLimiter.Take(rest.AddressKey(client)) > 0 {
		h.rejectRequest("throttled", errThrottled)
		return
	}
	s.metrics.refusedHandshakes.WithLabelValues("key").Inc()
	conn := h.upgradeConn()
	if conn == nil {
		return
	}
	// Closing waits for the agent, and strangers must not hold as many sockets as they like.
	if !s.refusalSlots.Take() {
		conn.Cut()
		return
	}
	s.closingSockets.Go(func() {
		defer s.refusalSlots.Release()
		s.metrics.countClose(closeKey)
		conn.Close(closeKey, "", closeTimeout)
	})
}

// upgradeConn returns nil if the request is not a valid handshake; the error answer is already sent then. It checks no
// Origin: browsers add cookies to requests of foreign pages, but never a key.
func (h *handshake) upgradeConn() *ws.Conn {
	s := h.server
	conn, err := ws.Accept(h.writer, h.request, ws.Options{
		Subprotocols: h.offer.subprotocols(), MaxMessage: maxFrameBytes, WriteTimeout: writeTimeout,
		WrapConn: func(conn net.Conn) net.Conn { return countedConn{conn, s.metrics} },
	})
	if err != nil { // It quotes headers of the caller, so it is not logged.
		s.metrics.refusedHandshakes.WithLabelValues("handshake").Inc()
		s.options.Log.LogAttrs(h.request.Context(), slog.LevelDebug, "handshake of an agent failed",
			slog.String("client", s.trustedProxies.Client(h.request).String()))
		return nil
	}
	return conn
}

// countedConn counts the bytes that agents send and receive.
type countedConn struct {
	net.Conn

	metrics *metrics
}

// Read implements net.Conn.
func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.metrics.receivedBytes.Add(float64(n))
	return n, err
}

// Write implements net.Conn.
func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.metrics.sentBytes.Add(float64(n))
	return n, err
}
