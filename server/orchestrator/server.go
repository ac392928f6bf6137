package orchestrator

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/ws"
)

// Store is the part of db.Store that the connections of agents need.
type Store interface {
	Replicas
	Lanes
	Keys
}

// Options configure a [Server]. Store is required; every other zero value is usable.
type Options struct {
	Store Store // The caller closes it.

	// Region is the region of the fleet; "" means global. The replicas of one region act as one orchestrator.
	Region string
	// CheckHere refuses a Region that another cell serves; nil: none is.
	CheckHere func(region string) error
	// AgentKeys are the configured keys of agents, in addition to the keys made by db.Store.CreateAgentKey.
	AgentKeys []string
	// Heartbeat is the time between two polls of an agent. It must be the same on all replicas; 0 means 5 s.
	Heartbeat time.Duration
	// MaxAgents limits the number of connections; 0 means 20,000.
	MaxAgents int
	// OtherHandler answers all requests that are not WebSocket handshakes; nil: 404.
	OtherHandler   http.Handler
	Addr           string // where to listen; "" means 127.0.0.1:7350. Listener, if set, is used instead.
	Listener       net.Listener
	TLS            *tls.Config // nil: plain text
	TrustedProxies []string    // proxies whose X-Forwarded-For is trusted: addresses or CIDRs
	// limit of wrong keys from one address; zero means rest.DefaultFailureRate, below zero no limit
	FailureRate rest.Rate

	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none
}

// Defaults returns what operators may change, with its defaults. [New] uses them for fields that are zero.
func Defaults() Options { return Options{Region: "global", Heartbeat: 5 * time.Second} }

func (o Options) withDefaults() Options {
	o.Region = cmp.Or(o.Region, Defaults().Region)
	o.Heartbeat = cmp.Or(o.Heartbeat, Defaults().Heartbeat)
	o.MaxAgents = cmp.Or(o.MaxAgents, 20_000)
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:7350")
	o.FailureRate = cmp.Or(o.FailureRate, rest.DefaultFailureRate)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.CheckHere == nil {
		o.CheckHere = func(string) error { return nil }
	}
	if o.OtherHandler == nil {
		o.OtherHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeError(w, errNotFound) })
	}
	return o
}

// Server serves the agents of one region on a listener of its own. Make it with [New]; then [Server.Listen],
// [Server.Serve] and [Server.Run], once each, and [Server.Stop].
type Server struct {
	options        Options
	agentKeys      *keyring
	trustedProxies rest.Proxies
	failureLimiter *rest.Limiter
	guard          *panics.Guard
	metrics        *metrics
	outageLog      *outage.Log

	handshakeSlots, refusalSlots, agentSlots *ws.Slots
	messageReader                            *ws.Reader
	currentReplica                           atomic.Pointer[replica] // nil before the database was reached
	closingSockets                           sync.WaitGroup          // counts refused sockets that are still being closed

	http     *rest.HTTPServer
	stopping chan struct{} // closed by Stop
	stopOnce sync.Once
	runEnded chan struct{} // closed when Run has returned
}

// New returns a Server that is not started. It makes no database call. Errors: an option is missing or invalid; the
// metrics are already registered.
func New(options Options) (*Server, error) {
	o := options.withDefaults()
	if o.Store == nil {
		return nil, errors.New("orchestrator: a store is required")
	}
	for i, secret := range o.AgentKeys {
		if err := ValidKey(secret); err != nil {
			return nil, fmt.Errorf("orchestrator: agent key %d: %w", i+1, err)
		}
	}
	trusted, err := rest.ParseProxies(o.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("orchestrator: trusted proxies: %w", err)
	}
	m := newMetrics()
	if o.Metrics != nil {
		if err := m.register(o.Metrics); err != nil {
			return nil, fmt.Errorf("orchestrator: %w", err)
		}
	}
	s := &Server{
		options: o, agentKeys: newKeyring(o.AgentKeys), trustedProxies: trusted,
		failureLimiter: rest.NewLimiter(o.FailureRate),
		guard:          panics.New(o.Log, m.panics), metrics: m, outageLog: outage.New(o.Log),
		handshakeSlots: ws.NewSlots(maxHandshakes), refusalSlots: ws.NewSlots(maxHandshakes),
		agentSlots:    ws.NewSlots(o.MaxAgents),
		messageReader: ws.NewReader(messageLimits), stopping: make(chan struct{}), runEnded: make(chan struct{}),
	}
	s.http = rest.NewHTTPServer(rest.HTTPOptions{Handler: s, Addr: o.Addr, Listener: o.Listener, TLS: o.TLS,
		HTTP1: true, Log: o.Log})
	return s, nil
}

// ServeHTTP implements http.Handler. A handshake on any path is an agent's; Options.OtherHandler answers all other requests.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if ws.IsUpgrade(r) {
		s.serveAgent(w, r)
		return
	}
	s.options.OtherHandler.ServeHTTP(w, r)
}

// Listen opens the listener. Errors: the address cannot be listened on.
func (s *Server) Listen(ctx context.Context) error { return s.http.Listen(ctx) }

// Addr returns the address, after Listen.
func (s *Server) Addr() net.Addr { return s.http.ListenAddr() }

// Serve answers requests until [Server.Stop], or until the listener fails. Errors: the listener's.
func (s *Server) Serve() error { return s.http.Serve() }

// Run renews the replica's lease in the database until [Server.Stop] has closed all connections. If ctx ends before
// that, connections are cut and the replica ends when its lease expires. Handshakes get 503 until Run has reached the
// database.
func (s *Server) Run(ctx context.Context) {
	defer close(s.runEnded)
	var running sync.WaitGroup
	defer running.Wait()
	// Until the last replica has ended: an agent whose key is revoked while the server stops is still closed.
	keys, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { s.refreshKeys(keys) })
	s.serveReplicas(ctx)
}

// Replica returns the id of this replica in the database, or uuid.Nil before it has one. The id changes after another
// replica or a worker has ended this replica.
func (s *Server) Replica() uuid.UUID {
	if r := s.currentReplica.Load(); r != nil {
		return r.id
	}
	return uuid.Nil
}

// Stop ends the replica. Its agents stay listed for three heartbeats; over two seconds, it closes their connections so
// that they connect elsewhere. Then it waits for the calls in flight. When ctx ends, the remaining connections are cut.
// Errors: a connection was cut.
func (s *Server) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() { close(s.stopping) })
	err := s.waitForRun(ctx)
	err = errors.Join(err, s.http.Shutdown(ctx))
	s.closingSockets.Wait()
	return errors.Join(err, s.http.Close())
}

func (s *Server) waitForRun(ctx context.Context) error {
	select {
	case <-s.runEnded:
		return nil
	case <-ctx.Done():
	}
	if r := s.currentReplica.Load(); r != nil {
		r.stopLanes()
		for _, socket := range r.sockets.Conns() {
			socket.cutLost(ctx.Err())
		}
	}
	return fmt.Errorf("connections of agents were cut off: %w", ctx.Err())
}

// refreshKeys reads the keys each second, and closes the connections whose key was revoked.
func (s *Server) refreshKeys(ctx context.Context) {
	follow.Loop{
		Name: "agent keys", Every: lookEvery, Timeout: callTimeout, Guard: s.guard,
		Report: s.outageLog.Call("keys").Report,
		Do:     func(ctx context.Context, _ bool) error { return s.refreshKeysOnce(ctx) },
	}.Run(ctx)
}

func (s *Server) refreshKeysOnce(ctx context.Context) error {
	rows, err := s.options.Store.AgentKeys(ctx, s.options.Region)
	if err != nil {
		return err
	}
	// Before the connections are looked at: one that is accepted from here on is judged by the new rows.
	s.agentKeys.setRows(rows)
	r := s.currentReplica.Load()
	if r == nil {
		return nil
	}
	for _, socket := range r.sockets.Conns() {
		if s.agentKeys.isRevoked(socket.key) {
			socket.handleEvent(func(c *conversation) effects {
				return c.endConnection(closeKey, "",
					"its key was revoked")
			})
		}
	}
	return nil
}
