package nats

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/ws"
	"github.com/lattice-director/director/token"
)

const (
	maxHandshakes = 256 // at a time; the same limit applies separately to refused connections that are being closed
	writeTimeout  = 5 * time.Second
	// closeSpread is the time over which a stopping replica ends its connections: its game servers connect elsewhere.
	closeSpread = 2 * time.Second
)

// Options configure a [Server]. Store and Tokens are required; every other zero value is usable.
type Options struct {
	Store        Store               // The caller closes it.
	ServerTokens *token.ServerTokens // verifies the credentials of deployments

	Addr     string // where to listen; "" means 127.0.0.1:4222. Listener, if set, is used instead.
	Listener net.Listener
	TLS      *tls.Config // nil: plain text
	// MaxServers limits the number of connections; 0 means 10,000.
	MaxServers int
	// FailureRate limits wrong credentials from one address; zero means rest.DefaultFailureRate, below zero no limit.
	FailureRate rest.Rate

	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none

	shakeHandsWithin    time.Duration // from the connection to the credential
	holdRead, holdWrite time.Duration // how long a request waits for the database
}

func (o Options) withDefaults() (Options, error) {
	if o.Store == nil || o.ServerTokens == nil {
		return o, errors.New("nats: a store and the credentials of game servers are required")
	}
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:4222")
	o.MaxServers = cmp.Or(o.MaxServers, 10_000)
	o.FailureRate = cmp.Or(o.FailureRate, rest.DefaultFailureRate)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.shakeHandsWithin = cmp.Or(o.shakeHandsWithin, 5*time.Second)
	// The plugin panics when the look-up of a client has no answer for ten seconds, or a write none for five. A write
	// is then acknowledged before it is stored: the connection has the whole list, and stores it when it can.
	o.holdRead, o.holdWrite = cmp.Or(o.holdRead, 8*time.Second), cmp.Or(o.holdWrite, 4*time.Second)
	return o, nil
}

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

	admissionContext context.Context //nolint:containedctx // ends when nobody is let in any more
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
	// First: a connection whose handshake ends now is closed instead of served.
	s.conns.Close()
	s.endAdmission()
	if s.listener != nil {
		_ = s.listener.Close()
	}
	ws.CloseEvenly(ctx, closeSpread, s.conns.Conns(), func(c *conn) { c.endOnceWith(endDraining) })
	ended := make(chan struct{})
	go func() { s.connsServed.Wait(); close(ended) }()
	// On any way out, also for connections that are being refused.
	defer s.cutAll()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
