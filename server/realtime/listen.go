package realtime

import (
	"context"
	"net"
	"net/http"
	"slices"

	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/ws"
)

const maxFrame = 256 << 10 // bytes of a message; a longer one is closed with 1009

// Listen opens the listener. Errors: the address cannot be listened on.
func (s *Server) Listen(ctx context.Context) error { return s.http.Listen(ctx) }

// Addr returns the address, after Listen.
func (s *Server) Addr() net.Addr { return s.http.ListenAddr() }

// Serve answers requests until [Server.Stop], or until the listener fails. Errors: the listener's.
func (s *Server) Serve() error { return s.http.Serve() }

// ServeHTTP implements http.Handler. Clients connect to any path. A request that is no upgrade gets 426.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Before the limits: a health check or a browser's visit takes no slot, and shows that the port is right.
	if r.Header.Get("Upgrade") == "" {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, http.StatusText(http.StatusUpgradeRequired), http.StatusUpgradeRequired)
		return
	}
	status, outcome := s.admitUpgrade(r)
	if status != 0 {
		s.metrics.handshakes.WithLabelValues(outcome).Inc()
		// Another replica may have space: the load balancer picks one for the next try.
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, http.StatusText(status), status)
		return
	}
	s.upgradeConn(w, r)
}

// admitUpgrade takes a slot for a connection, which upgradeConn gives back, and returns 0. For a request that is
// refused it returns the status, and the outcome for the metric.
func (s *Server) admitUpgrade(r *http.Request) (status int, outcome string) {
	if origin := r.Header.Get("Origin"); origin != "" && len(s.options.AllowedOrigins) > 0 &&
		!slices.Contains(s.options.AllowedOrigins, origin) {
		return http.StatusForbidden, "origin"
	}
	if !s.IsReady() {
		return http.StatusServiceUnavailable, "not_ready"
	}
	// Last, because a slot that was taken has to be given back.
	if !s.connSlots.Take() {
		return http.StatusServiceUnavailable, "full"
	}
	return 0, ""
}

// upgradeConn upgrades a connection, and serves it in a goroutine of its own. The handler returns at once: the
// goroutine of the HTTP server, its stack and its buffers are not kept.
func (s *Server) upgradeConn(w http.ResponseWriter, r *http.Request) {
	isServed := false
	// Deferred, so that a handshake that panics gives the slot back as well.
	defer func() {
		if !isServed {
			s.connSlots.Release()
		}
	}()
	// Accept does not look at the Origin: admitUpgrade has judged it.
	conn, err := ws.Accept(w, r, ws.Options{MaxMessage: maxFrame, WriteTimeout: s.options.timing.writeTimeout})
	if err != nil { // The client has its answer. The error quotes headers, so it is not logged.
		s.metrics.handshakes.WithLabelValues("http").Inc()
		return
	}
	opening := &handshake{server: s, socket: conn, clientAddress: rest.AddressKey(s.trustedProxies.Client(r))}
	isServed = true
	s.connsServed.Go(func() {
		defer s.connSlots.Release()
		if s.guard.Do("realtime connection", opening.serveClient) != nil {
			conn.Cut()
		}
	})
}
