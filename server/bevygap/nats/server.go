package nats

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/ws"
)

const (
	maxHandshakes = 256 // at a time; the same limit applies separately to refused connections that are being closed
	writeTimeout  = 5 * time.Second
	// closeSpread is the time over which a stopping replica ends its connections: its game servers connect elsewhere.
	closeSpread = 2 * time.Second
)

// Server serves game servers on a listener of its own. Make it with [New]; then [Server.Listen] and [Server.Serve],
// once each, and [Server.Stop].
type Server struct {
	options        Options
	id             string
	listener       net.Listener
	failureLimiter *rest.Limiter
	guard          *panics.Guard
	metrics        *metrics
	outageLog      *outage.Log

	handshakeSlots, refusalSlots, serverSlots *ws.Slots
	crowd                                     *crowd
	conns                                     *ws.Set[uint64, *conn]
	lastID                                    atomic.Uint64

	admissionContext context.Context //nolint:containedctx // ends when no connection is accepted any more
	endAdmission     context.CancelFunc
	serverContext    context.Context //nolint:containedctx // ends when the remaining connections are cut
	cutAll           context.CancelFunc
	connsServed      sync.WaitGroup // counts connections, also those that are refused
}

// New returns a Server that is not started. It makes no database call. Errors: an option is missing; the metrics are
// already registered.
func New(options Options) (*Server, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails, by its contract
	s := &Server{
		options: o, id: hex.EncodeToString(id), listener: o.Listener, failureLimiter: rest.NewLimiter(o.FailureRate),
		handshakeSlots: ws.NewSlots(maxHandshakes), refusalSlots: ws.NewSlots(maxHandshakes),
		serverSlots: ws.NewSlots(o.MaxServers), crowd: newCrowd(),
		conns: ws.NewSet[uint64, *conn](), outageLog: outage.New(o.Log),
	}
	s.serverContext, s.cutAll = context.WithCancel(context.Background())
	s.admissionContext, s.endAdmission = context.WithCancel(s.serverContext)
	s.metrics = newMetrics(func() float64 { return float64(s.serverSlots.Count()) })
	s.guard = panics.New(o.Log, s.metrics.panics)
	if o.Metrics != nil {
		if err := s.metrics.register(o.Metrics); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Listen opens the listener. Errors: the address cannot be listened on.
func (s *Server) Listen(ctx context.Context) (err error) {
	if s.listener == nil {
		s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.options.Addr)
	}
	return err
}

// Addr returns the address, after Listen; nil before.
func (s *Server) Addr() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Stop accepts no more connections and ends those that there are, over two seconds, so that their game servers connect
// to other replicas. Their leases last meanwhile. When ctx ends, the remaining connections are cut. Errors: a
// connection was cut.
func (s *Server) Stop(ctx context.Context) error {
	// From here on, a connection whose handshake ends is closed instead of served.
	s.conns.Close()
	s.endAdmission()
	if s.listener != nil {
		_ = s.listener.Close()
	}
	ws.CloseEvenly(ctx, closeSpread, s.conns.Conns(), func(c *conn) { c.endOnceWith(endDraining) })
	ended := make(chan struct{})
	go func() { s.connsServed.Wait(); close(ended) }()
	// Connections that are being refused are cut as well.
	defer s.cutAll()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
