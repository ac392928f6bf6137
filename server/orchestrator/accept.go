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
	// The slot is released before the connection is served, which may last for days.
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
	key, isKnown := s.agentKeys.findKey(h.offer.secret)
	// 503 asks the agent to come back, and 4001 would say that its key is wrong, which is not known before the keys are
	// read.
	if current == nil || current.sockets.IsClosed() || !isKnown && !s.agentKeys.isComplete() {
		h.rejectRequest("not_ready", errNotReady)
		return nil
	}
	if !isKnown {
		h.refuseKey()
		return nil
	}
	// The key is checked before: only agents learn which cell serves a region.
	if err := s.options.CheckHere(s.options.Region); err != nil {
		rest.SetCell(h.writer.Header(), err, fault.ListenerOrchestrator)
		h.rejectRequest("elsewhere", errElsewhere)
		return nil
	}
	if !s.agentSlots.Take() {
		h.rejectRequest("full", errNotReady)
		return nil
	}
	return h.acceptAgent(current, key)
}

// acceptAgent returns the socket of an agent for which a slot was taken, or nil if the handshake fails.
func (h *handshake) acceptAgent(current *replica, key agentKey) (agent *socket) {
	s := h.server
	// serveConn releases the slot of an agent that was accepted. This is deferred, so that a handshake that panics
	// releases it as well.
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
	// The key itself is not logged: it may be a valid one with a typing error.
	s.options.Log.LogAttrs(h.request.Context(), slog.LevelWarn, "agent refused: its key is not known",
		slog.String("client", client.String()), slog.Bool("has_key", h.offer.secret != ""))
	// Failures within the limit cost an upgrade and a close frame, by which an agent learns that its key is wrong.
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

// upgradeConn upgrades the request to a WebSocket. It returns nil if the request is not a valid handshake; the error
// answer is already sent then. It checks no Origin: browsers add cookies to requests of foreign pages, but never a key.
func (h *handshake) upgradeConn() *ws.Conn {
	s := h.server
	conn, err := ws.Accept(h.writer, h.request, ws.Options{
		Subprotocols: h.offer.subprotocols(), MaxMessage: maxFrameBytes, WriteTimeout: writeTimeout,
		WrapConn: func(conn net.Conn) net.Conn { return countedConn{conn, s.metrics} },
	})
	if err != nil { // The error quotes headers of the caller, so it is not logged.
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
