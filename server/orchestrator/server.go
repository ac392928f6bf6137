package orchestrator

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	Addr           string       // where to listen; "" means 127.0.0.1:7350
	Listener       net.Listener // nil: New's server listens on Addr
	TLS            *tls.Config  // nil: plain text
	TrustedProxies []string     // proxies whose X-Forwarded-For is trusted: addresses or CIDRs
	// FailureRate limits wrong keys from one address; zero means rest.DefaultFailureRate, below zero no limit.
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
	closingSockets                           sync.WaitGroup          // counts refused sockets that are being closed

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

// maxHandshakes limits the handshakes under way. The same limit applies separately to refused sockets that are still
// being closed: a stranger that does not answer a close frame must not keep agents from connecting.
const maxHandshakes = 256

// messageLimits bound what the agents of a replica send: of large messages, 256 MiB are read and decoded at a time.
var messageLimits = ws.Limits{SmallBytes: 64 << 10, LargeBytes: maxFrameBytes, LargeAtOnce: 256 << 20,
	LargeWithin: 30 * time.Second}
