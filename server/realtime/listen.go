package realtime

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/server/rest"
)

const (
	maxFrame = 256 << 10 // bytes of a message; a longer one is closed with 1009
	// bufferBytes is the size of each of the two buffers of a connection. Larger reads and writes bypass them.
	bufferBytes = 1 << 10
)

// Listen opens the listener. Errors: the address cannot be listened on.
func (s *Server) Listen(ctx context.Context) (err error) {
	if s.listener != nil {
		return nil
	}
	if s.listener = s.options.Listener; s.listener == nil {
		s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.options.Addr)
	}
	return err
}

// Addr returns the address, after Listen.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers requests until [Server.Stop], or until the listener fails. Errors: the listener's.
func (s *Server) Serve() error { return s.http.Serve(s.listener) }

// ServeHTTP implements http.Handler. Clients connect to any path. A request that is no upgrade gets 426.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, http.StatusText(http.StatusUpgradeRequired), http.StatusUpgradeRequired)
		return
	}
	status, outcome := s.admit(r)
	if status != 0 {
		s.metrics.handshakes.WithLabelValues(outcome).Inc()
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, http.StatusText(status), status)
		return
	}
	s.accept(w, r)
}

// admit takes a slot for a connection, which serve gives back. Otherwise it returns the status that the client gets; 0 for none.
func (s *Server) admit(r *http.Request) (status int, outcome string) {
	if origin := r.Header.Get("Origin"); origin != "" && len(s.options.Origins) > 0 && !slices.Contains(s.options.Origins, origin) {
		return http.StatusForbidden, "origin"
	}
	if !s.Ready() {
		return http.StatusServiceUnavailable, "not_ready"
	}
	if s.connected.Add(1) > int64(s.options.MaxConnections) {
		s.connected.Add(-1)
		return http.StatusServiceUnavailable, "full"
	}
	return 0, ""
}

// accept upgrades a connection. The handler returns at once: the goroutine of the HTTP server, its stack and its buffers are not kept.
func (s *Server) accept(w http.ResponseWriter, r *http.Request) {
	h := &hijacker{ResponseWriter: w}
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // admit has judged the Origin
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil { // The client has its answer. The error quotes headers, so it is not logged.
		s.connected.Add(-1)
		s.metrics.handshakes.WithLabelValues("http").Inc()
		return
	}
	ws.SetReadLimit(maxFrame)
	opening := &handshake{Server: s, ws: ws, cork: h.conn, address: rest.AddressKey(s.proxies.Client(r))}
	s.serving.Go(func() {
		defer s.connected.Add(-1)
		if s.guard.Do("realtime connection", opening.serve) != nil {
			_ = ws.CloseNow()
		}
	})
}

// hijacker keeps the hijacked connection, which needs deadlines and a cork, and replaces the buffers of the HTTP server by
// smaller ones.
type hijacker struct {
	http.ResponseWriter

	conn *cork
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &cork{Conn: conn}
	early, _ := buffers.Reader.Peek(buffers.Reader.Buffered()) // never fails: it is buffered
	in := bufio.NewReaderSize(bytes.NewReader(bytes.Clone(early)), max(bufferBytes, len(early)))
	_, _ = in.Peek(len(early)) // the library keeps what is buffered, and reads the rest from the connection
	return conn, bufio.NewReadWriter(in, bufio.NewWriterSize(h.conn, bufferBytes)), nil
}
