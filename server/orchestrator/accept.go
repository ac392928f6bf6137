package orchestrator

import (
	"bufio"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/server/rest"
)

const (
	maxHandshakes = 256 // at a time; the same limit applies separately to refused sockets that are still being closed
	closeTimeout  = 5 * time.Second
)

// isUpgrade reports whether a request asks for a WebSocket. Agents connect to any path.
func isUpgrade(r *http.Request) bool {
	return hasToken(r.Header, "Connection", "upgrade") && hasToken(r.Header, "Upgrade", "websocket")
}

func hasToken(h http.Header, name, token string) bool {
	for entry := range strings.SplitSeq(strings.Join(h.Values(name), ","), ",") {
		if strings.EqualFold(strings.TrimSpace(entry), token) {
			return true
		}
	}
	return false
}

// accept serves the connection of an agent until it ends.
func (s *Server) accept(w http.ResponseWriter, r *http.Request) {
	if !take(s.handshakes) {
		s.metrics.refused.WithLabelValues("busy").Inc()
		writeError(w, errNotReady)
		return
	}
	shake := &handshake{Server: s, w: w, r: r, offer: offerOf(r.Header)}
	k := shake.judge()
	release(s.handshakes)
	if k != nil {
		k.serve()
	}
}

func take(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func release(slots chan struct{}) { <-slots }

// handshake is a request for a WebSocket. It implements http.Hijacker and keeps the hijacked connection, because closing a WebSocket
// needs deadlines on that connection.
type handshake struct {
	*Server

	w     http.ResponseWriter
	r     *http.Request
	offer offer
	conn  net.Conn // after the upgrade
}

// judge accepts or refuses the request. It returns the agent's socket, or nil if the request was refused.
func (h *handshake) judge() *socket {
	life := h.life.Load()
	key, known := h.keys.find(h.offer.secret)
	switch {
	case life == nil || life.ending.Load(), !known && !h.keys.complete():
		h.reject("not_ready", errNotReady)
		return nil
	case !known:
		h.refuse()
		return nil
	case !take(h.agents):
		h.reject("full", errNotReady)
		return nil
	}
	ws := h.upgrade()
	if ws == nil {
		release(h.agents)
		return nil
	}
	if !h.offer.sentinel {
		h.options.Log.LogAttrs(h.r.Context(), slog.LevelWarn, "agent does not offer the subprotocol "+subprotocol, slog.String("key", key.fingerprint))
	}
	return newSocket(life, ws, h.conn, key)
}

// reject answers as REST answers errors.
func (h *handshake) reject(why string, err rejection) {
	h.metrics.refused.WithLabelValues(why).Inc()
	writeError(h.w, err)
}

// refuse answers a wrong key with close code 4001. An address that sends too many wrong keys gets an HTTP error without an upgrade.
// Agents with a valid key are not throttled, even if their address is.
func (h *handshake) refuse() {
	client := h.proxies.Client(h.r)
	log := []slog.Attr{slog.String("client", client.String()), slog.Bool("has_key", h.offer.secret != "")}
	h.options.Log.LogAttrs(h.r.Context(), slog.LevelWarn, "agent refused: its key is not known", log...)
	if h.failures.Take(rest.AddressKey(client)) > 0 {
		h.reject("throttled", errThrottled)
		return
	}
	h.metrics.refused.WithLabelValues("key").Inc()
	ws := h.upgrade()
	if ws == nil {
		return
	}
	if !take(h.refusals) {
		_ = ws.CloseNow()
		return
	}
	h.closings.Go(func() {
		defer release(h.refusals)
		h.metrics.closed(closeKey)
		closeSocket(ws, h.conn, closeKey, "")
	})
}

// closeSocket sends a close frame and waits for the close frame of the other side. It sets a deadline, because the library has none
// while it waits for the rest of a message.
func closeSocket(ws *websocket.Conn, conn net.Conn, code websocket.StatusCode, reason string) {
	_ = conn.SetDeadline(time.Now().Add(closeTimeout))
	_ = ws.Close(code, reason)
}

// upgrade returns nil if the request is not a valid handshake; the error answer is already sent then.
func (h *handshake) upgrade() *websocket.Conn {
	ws, err := websocket.Accept(h, h.r, &websocket.AcceptOptions{
		Subprotocols:       h.offer.subprotocols(),
		InsecureSkipVerify: true, // skips the Origin check: browsers add cookies to requests of foreign pages, but never a key
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil { // It quotes headers of the caller, so it is not logged.
		h.metrics.refused.WithLabelValues("handshake").Inc()
		h.options.Log.LogAttrs(h.r.Context(), slog.LevelDebug, "handshake of an agent failed", slog.String("client", h.proxies.Client(h.r).String()))
		return nil
	}
	ws.SetReadLimit(maxFrameBytes)
	return ws
}

// Header implements http.ResponseWriter.
func (h *handshake) Header() http.Header { return h.w.Header() }

// Write implements http.ResponseWriter.
func (h *handshake) Write(b []byte) (int, error) { return h.w.Write(b) }

// WriteHeader implements http.ResponseWriter.
func (h *handshake) WriteHeader(status int) { h.w.WriteHeader(status) }

// Hijack implements http.Hijacker.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.w).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = countedConn{conn, h.metrics}
	buffers.Writer.Reset(h.conn) // the library writes through this buffer, which is empty, and not to the connection
	return h.conn, buffers, nil
}

// countedConn counts the bytes that agents send and receive.
type countedConn struct {
	net.Conn

	metrics *metrics
}

// Read implements net.Conn.
func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.metrics.received.Add(float64(n))
	return n, err
}

// Write implements net.Conn.
func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.metrics.sent.Add(float64(n))
	return n, err
}
