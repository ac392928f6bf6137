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
	Region   string
	AuthMode Mode // "" means AuthRequired
	// MasterSecret is the secret that the secrets of projects are derived from; ProjectSecrets, by project, replace
	// derived ones.
	MasterSecret   string
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

	RoomTypes      *lobby.Types // nil: the built-in types
	Conformance    bool         // echo and position.update reach members on the same replica
	AllowedOrigins []string     // pages that may connect; none: any may, because nothing here depends on cookies
	MaxConnections int          // 0 means 20,000

	// OnRefusal is told of each message of a named player that had no effect; it must not wait. nil: nobody is.
	OnRefusal func(fault.Refusal)
	Log       *slog.Logger          // nil: no log
	Metrics   prometheus.Registerer // nil: none

	timing timing
}

const minSecret = 16 // bytes: of a shorter master secret, the secrets of projects could be guessed

// timing is how long things may take. Tests shorten it.
type timing struct {
	handshakeTimeout time.Duration // until the first frame
	pushDelay        time.Duration // before the first push: the SDK loses frames that arrive right behind handshake.ok
	callTimeout      time.Duration // of an action
	writeTimeout     time.Duration // of a frame
	closeTimeout     time.Duration // until the client has closed, too
	pingEvery        time.Duration // between pings
	pongWithin       time.Duration // until the answer
	lookEvery        time.Duration // between two looks at sessions without a connection; longer than call
	presenceEvery    time.Duration // between two looks at watched players
}

// silenceLimit is after how long a connection whose client is not heard is closed.
func (t timing) silenceLimit() time.Duration { return t.pingEvery + t.pongWithin }

// Defaults returns what operators may change, with its defaults. [New] uses them for fields that are zero, except
// RequireKey.
func Defaults() Options {
	return Options{Region: "global", AuthMode: AuthRequired, RequireKey: true, KeyScope: "token:mint",
		SessionTTL: 30 * time.Second, MaxConnections: 20_000}
}

func (o Options) withDefaults() (Options, error) {
	d := Defaults()
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:4000")
	o.Region = cmp.Or(o.Region, d.Region)
	o.Universe = cmp.Or(o.Universe, "global")
	o.AuthMode = cmp.Or(o.AuthMode, d.AuthMode)
	o.KeyScope = cmp.Or(o.KeyScope, d.KeyScope)
	o.SessionTTL = cmp.Or(o.SessionTTL, d.SessionTTL)
	o.MaxConnections = cmp.Or(o.MaxConnections, d.MaxConnections)
	o.FailureRate = cmp.Or(o.FailureRate, rest.DefaultFailureRate)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.OnRefusal == nil {
		o.OnRefusal = func(fault.Refusal) {}
	}
	o.timing = o.timing.withDefaults()
	if o.AuthMode != AuthRequired && o.AuthMode != AuthOptional && o.AuthMode != AuthDisabled {
		return o, fmt.Errorf("realtime: %q is not one of required, optional and disabled", o.AuthMode)
	}
	if o.AuthMode != AuthDisabled && !o.KeySecretsOnly && len(o.MasterSecret) < minSecret {
		return o, fmt.Errorf("realtime: the master secret has fewer than %d bytes", minSecret)
	}
	if o.RoomTypes != nil {
		return o, nil
	}
	var err error
	o.RoomTypes, err = lobby.NewTypes(o.Conformance, nil)
	return o, err
}

func (t timing) withDefaults() timing {
	return timing{
		handshakeTimeout: cmp.Or(t.handshakeTimeout, 10*time.Second),
		pushDelay:        cmp.Or(t.pushDelay, 30*time.Millisecond),
		callTimeout:      cmp.Or(t.callTimeout, 10*time.Second),
		writeTimeout:     cmp.Or(t.writeTimeout, 10*time.Second), closeTimeout: cmp.Or(t.closeTimeout, 5*time.Second),
		pingEvery: cmp.Or(t.pingEvery, 20*time.Second), pongWithin: cmp.Or(t.pongWithin, 10*time.Second),
		lookEvery: cmp.Or(t.lookEvery, 15*time.Second), presenceEvery: cmp.Or(t.presenceEvery, presenceEvery),
	}
}

// Server serves the realtime lobby on a listener of its own. Make it with [New]; then [Server.Listen], [Server.Serve]
// and [Server.Run], once each, and [Server.Stop].
type Server struct {
	store          *db.Store
	options        Options
	rpcs           map[string]rpc
	secrets        *secrets
	trustedProxies rest.Proxies
	failureLimiter *rest.Limiter
	codeLimiter    *rest.Limiter // of rooms, that clients try
	roomLists      *roomLists
	presences      *presences
	textHook       *texts.Hook // nil: texts are not checked
	guard          *panics.Guard
	metrics        *metrics
	outageLog      *outage.Log
	playerRates    *playerRates
	connSlots      *ws.Slots // of connections, also those before their handshake
	messageReader  *ws.Reader

	mu            sync.Mutex
	regionsByName map[string]*region
	runContext    context.Context //nolint:containedctx // of the loops; set by Run, nil before
	isDraining    bool
	regionLoops   sync.WaitGroup // of regions
	connsServed   sync.WaitGroup // of connections

	http             *rest.HTTPServer
	isRestarting     atomic.Bool     // Stop was called
	handshakeContext context.Context //nolint:containedctx // ends when clients without a session are to leave
	endHandshakes    context.CancelFunc
	connsClosed      chan struct{} // closed when Stop has closed the connections
	stopOnce         sync.Once
	runEnded         chan struct{} // closed when Run has returned
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
		store: store, options: o, secrets: newSecrets(store, o), trustedProxies: trusted,
		failureLimiter: rest.NewLimiter(o.FailureRate), codeLimiter: rest.NewLimiter(codeRate),
		outageLog: outage.New(o.Log), connSlots: ws.NewSlots(o.MaxConnections), playerRates: newPlayerRates(),
		messageReader: ws.NewReader(messageLimits),
		regionsByName: map[string]*region{}, connsClosed: make(chan struct{}), runEnded: make(chan struct{}),
	}
	s.handshakeContext, s.endHandshakes = context.WithCancel(context.Background())
	s.metrics = newMetrics(func() float64 { return float64(s.connSlots.Count()) })
	if o.Metrics != nil {
		if err := s.metrics.register(o.Metrics); err != nil {
			return nil, fmt.Errorf("realtime: %w", err)
		}
	}
	s.guard = panics.New(o.Log, s.metrics.panics)
	s.rpcs = s.allRPCs()
	s.roomLists = newRoomLists(s)
	s.presences = newPresences(s)
	s.textHook = texts.New(o.TextHook, o.TextHookFailOpen, s.outageLog.Call("check texts").Report)
	s.http = rest.NewHTTPServer(rest.HTTPOptions{Handler: s, Addr: o.Addr, Listener: o.Listener, TLS: o.TLS,
		HTTP1: true, Log: o.Log})
	return s, nil
}

// Run keeps the leases of this replica, delivers what happens in rooms and pings clients, until [Server.Stop] has
// closed all connections. If ctx ends before that, connections are cut, and workers suspend their sessions when the
// lease expires. Upgrades get 503 until Run has reached the database.
func (s *Server) Run(ctx context.Context) {
	defer close(s.runEnded)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.runContext = ctx
	s.mu.Unlock()
	s.regionLoops.Go(func() { s.ensureProfiles(ctx) })
	// The region of the cell is begun at once, since Ready waits for it; others begin with their first client.
	s.regionOf(s.options.Region)
	select {
	case <-s.connsClosed:
	case <-ctx.Done():
	}
	// The list is complete: no region begins any more, after Stop because the server drains, otherwise because ctx is
	// over.
	for _, r := range s.allRegions() {
		<-r.hasEnded
	}
	// The loops that watch lists and players, which nobody stops if their connections were cut.
	cancel()
	s.regionLoops.Wait()
}
