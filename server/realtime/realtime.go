package realtime

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/texts"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/ws"
	"github.com/lattice-director/director/token"
)

// Mode says which clients need a token.
type Mode string

// The modes.
const (
	AuthRequired Mode = "required" // every client needs a token
	AuthOptional Mode = "optional" // a client may be anonymous, but a token that it presents must be valid
	AuthDisabled Mode = "disabled" // tokens are not read: every client is anonymous
)

// Options configure a [Server]. Master is required, unless KeySecretsOnly is set or Auth is AuthDisabled; every other
// zero value is usable.
type Options struct {
	Addr           string       // where to listen; "" means 127.0.0.1:4000. Listener, if set, is used instead.
	Listener       net.Listener //
	TLS            *tls.Config  // nil: plain text
	TrustedProxies []string     // proxies whose X-Forwarded-For is trusted: addresses or CIDRs
	// limit of refused tokens from one address; zero means rest.DefaultFailureRate, below zero no limit
	FailureRate rest.Rate

	// Region is where sessions of clients without a project are; "" means global. Sessions of a project are in the
	// project's region.
	Region string
	Auth   Mode // "" means AuthRequired
	// Master is the secret that the secrets of projects are derived from; ProjectSecrets, by project, replace derived
	// ones.
	Master         string
	ProjectSecrets map[string]string
	RequireKey     bool          // refuse tokens that name no key
	KeyScope       string        // that the key must have; "" means token:mint
	KeySecretsOnly bool          // believe only tokens that are signed with the secret of their key
	Sealer         *token.Sealer // opens the secrets of keys; nil: they sign nothing
	SessionTTL     time.Duration // for which a suspended session can be resumed; 0 means 30 s
	TicketTTL      time.Duration // after which a ticket that is not matched expires; 0: when its session ends
	ResumeByKey    bool          // any token of the same key resumes a session

	// Universe is the region that is the queue for matches; "" means global. Store has its settings: see [Queueing].
	Universe string
	Signer   Signer // of session tokens; nil: match.resolve is refused

	// TextHook is a URL at which what players say is checked; "": nothing is. With TextHookFailOpen, what could not be
	// checked is said all the same. See package texts.
	TextHook         string
	TextHookFailOpen bool

	Rooms          *lobby.Types // nil: the built-in types
	Conformance    bool         // echo and position.update reach members on the same replica
	Origins        []string     // pages that may connect; none: any may, because nothing here depends on cookies
	MaxConnections int          // 0 means 20,000

	// Refused is told of each message of a named player that had no effect; it must not wait. nil: nobody is.
	Refused func(fault.Refusal)
	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none

	timing timing
}

const minSecret = 16 // bytes: of a shorter master secret, the secrets of projects could be guessed

// timing is how long things may take. Tests shorten it.
type timing struct {
	handshake time.Duration // until the first frame
	hold      time.Duration // before the first push: the SDK loses frames that arrive right behind handshake.ok
	call      time.Duration // of an action
	write     time.Duration // of a frame
	close     time.Duration // until the client has closed, too
	ping      time.Duration // between pings
	pong      time.Duration // until the answer
	look      time.Duration // between two looks at sessions without a connection; longer than call
	presence  time.Duration // between two looks at watched players
}

// silence is after how long a connection whose client is not heard is closed.
func (t timing) silence() time.Duration { return t.ping + t.pong }

// Defaults returns what operators may change, with its defaults. [New] uses them for fields that are zero, except
// RequireKey.
func Defaults() Options {
	return Options{Region: "global", Auth: AuthRequired, RequireKey: true, KeyScope: "token:mint",
		SessionTTL: 30 * time.Second, MaxConnections: 20_000}
}

func (o Options) withDefaults() (Options, error) {
	d := Defaults()
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:4000")
	o.Region = cmp.Or(o.Region, d.Region)
	o.Universe = cmp.Or(o.Universe, "global")
	o.Auth = cmp.Or(o.Auth, d.Auth)
	o.KeyScope = cmp.Or(o.KeyScope, d.KeyScope)
	o.SessionTTL = cmp.Or(o.SessionTTL, d.SessionTTL)
	o.MaxConnections = cmp.Or(o.MaxConnections, d.MaxConnections)
	o.FailureRate = cmp.Or(o.FailureRate, rest.DefaultFailureRate)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Refused == nil {
		o.Refused = func(fault.Refusal) {}
	}
	o.timing = o.timing.withDefaults()
	if o.Auth != AuthRequired && o.Auth != AuthOptional && o.Auth != AuthDisabled {
		return o, fmt.Errorf("realtime: %q is not one of required, optional and disabled", o.Auth)
	}
	if o.Auth != AuthDisabled && !o.KeySecretsOnly && len(o.Master) < minSecret {
		return o, fmt.Errorf("realtime: the master secret has fewer than %d bytes", minSecret)
	}
	if o.Rooms != nil {
		return o, nil
	}
	var err error
	o.Rooms, err = lobby.NewTypes(o.Conformance, nil)
	return o, err
}

func (t timing) withDefaults() timing {
	return timing{
		handshake: cmp.Or(t.handshake, 10*time.Second), hold: cmp.Or(t.hold, 30*time.Millisecond),
		call:  cmp.Or(t.call, 10*time.Second),
		write: cmp.Or(t.write, 10*time.Second), close: cmp.Or(t.close, 5*time.Second),
		ping: cmp.Or(t.ping, 20*time.Second), pong: cmp.Or(t.pong, 10*time.Second),
		look: cmp.Or(t.look, 15*time.Second), presence: cmp.Or(t.presence, presenceEvery),
	}
}

// Server serves the realtime lobby on a listener of its own. Make it with [New]; then [Server.Listen], [Server.Serve]
// and [Server.Run], once each, and [Server.Stop].
type Server struct {
	store     *db.Store
	options   Options
	rpcs      map[string]rpc
	secrets   *secrets
	proxies   rest.Proxies
	failures  *rest.Limiter
	codes     *rest.Limiter // of rooms, that clients try
	lists     *roomLists
	presences *presences
	texts     *texts.Hook // nil: texts are not checked
	guard     *panics.Guard
	metrics   *metrics
	outages   *outage.Log
	rates     *playerRates
	slots     *ws.Slots // of connections, also those before their handshake
	messages  *ws.Reader

	mu       sync.Mutex
	regions  map[string]*region
	running  context.Context //nolint:containedctx // of the loops; set by Run, nil before
	draining bool
	loops    sync.WaitGroup // of regions
	serving  sync.WaitGroup // of connections

	http       *rest.HTTPServer
	restarting atomic.Bool     // Stop was called
	welcoming  context.Context //nolint:containedctx // ends when clients without a session are to leave
	endWelcome context.CancelFunc
	stopping   chan struct{} // closed when Stop has closed the connections
	stopOnce   sync.Once
	ran        chan struct{} // closed when Run has returned
}

// New makes a Server that is not started. It makes no database call. Errors: an option is missing or invalid; the
// metrics are already registered.
func New(store *db.Store, options Options) (*Server, error) {
	if store == nil {
		return nil, errors.New("realtime: a store is required")
	}
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	trusted, err := rest.ParseProxies(o.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("realtime: trusted proxies: %w", err)
	}
	s := &Server{
		store: store, options: o, secrets: newSecrets(store, o), proxies: trusted,
		failures: rest.NewLimiter(o.FailureRate), codes: rest.NewLimiter(codeRate),
		outages: outage.New(o.Log), slots: ws.NewSlots(o.MaxConnections), rates: newPlayerRates(), messages: ws.NewReader(messageLimits),
		regions: map[string]*region{}, stopping: make(chan struct{}), ran: make(chan struct{}),
	}
	s.welcoming, s.endWelcome = context.WithCancel(context.Background())
	s.metrics = newMetrics(func() float64 { return float64(s.slots.Count()) })
	if o.Metrics != nil {
		if err := s.metrics.register(o.Metrics); err != nil {
			return nil, fmt.Errorf("realtime: %w", err)
		}
	}
	s.guard = panics.New(o.Log, s.metrics.panics)
	s.rpcs = s.allRPCs()
	s.lists = newRoomLists(s)
	s.presences = newPresences(s)
	s.texts = texts.New(o.TextHook, o.TextHookFailOpen, s.outages.Call("check texts").Report)
	s.http = rest.NewHTTPServer(rest.HTTPOptions{Handler: s, Addr: o.Addr, Listener: o.Listener, TLS: o.TLS,
		HTTP1: true, Log: o.Log})
	return s, nil
}

// Run keeps the leases of this replica, delivers what happens in rooms and pings clients, until [Server.Stop] has
// closed all connections. If ctx ends before that, connections are cut, and workers suspend their sessions when the
// lease expires. Upgrades get 503 until Run has reached the database.
func (s *Server) Run(ctx context.Context) {
	defer close(s.ran)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.running = ctx
	s.mu.Unlock()
	s.loops.Go(func() { s.ensureProfiles(ctx) })
	// The region of the cell is begun at once, since Ready waits for it; others begin with their first client.
	s.regionOf(s.options.Region)
	select {
	case <-s.stopping:
	case <-ctx.Done():
	}
	// The list is complete: no region begins any more, after Stop because the server drains, otherwise because ctx is
	// over.
	for _, r := range s.allRegions() {
		<-r.hasEnded
	}
	// The loops that watch lists and players, which nobody stops if their connections were cut.
	cancel()
	s.loops.Wait()
}
