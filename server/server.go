// Package server is a replica. It mounts the faces behind their middlewares (authentication, limits, deadlines), opens
// the listeners, runs the loops that refresh signing keys and clock, and stops without losing a call. The calls
// themselves are in the faces: fleet and hook for game servers and providers, play, bevygap and realtime for players,
// backend and openmatch for services, ops, console, projects and orchestrator for operators, and infra. The HTTP
// toolkit is in rest. A replica holds no state; db does.
//
// Game servers and players each have [Options.MaxInFlight] slots. A call passes these steps, the cheapest first:
//
//  1. While no slot is free, the call is answered 503 at once. For players' calls this is checked before routing.
//  2. The token and the player's rate are checked. This needs headers only: no body is read before authentication.
//  3. The body, of at most 64 KiB, is read within [Options.BodyTimeout]. Twice as many bodies as slots are read at a
//     time; one more displaces the slowest. With 512 slots, bodies being read take at most 64 MiB for each audience.
//  4. The call takes a slot, or is answered 503. If the caller disconnects, the slot is freed when the statement that
//     runs for the call has ended. A call that is decided in a batch frees it at once, because db bounds the calls that
//     wait.
//  5. [Options.CallTimeout] begins. The body is decoded and the call decided.
//
// A call that may wait for a ticket (a long poll, a stream of events) or for sessions takes no slot, since waiting
// costs only memory. The hub and fleet bound how many there are, db bounds those that read at a time, and each reading
// has a timeout.
//
// Which key signs a session token? queries/key.sql decides by times in rows, token/ring.go picks the key by these
// times, and keyring keeps the rows in memory.
package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/explainer"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/internal/refusals"
	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/server/bevygap/nats"
	"github.com/lattice-director/director/server/fleet"
	"github.com/lattice-director/director/server/hook"
	"github.com/lattice-director/director/server/infra"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/ops"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Server is one replica. Make it with [New] and call [Server.Run] once.
type Server struct {
	options       Options
	apiEngine     *gin.Engine
	guardedEngine http.Handler // the engine behind the players' gate
	api           *rest.HTTPServer
	metrics       *rest.HTTPServer                // nil where they are not served
	openMatch     *openmatch.Server               // nil when Open Match is not served
	agents        *agents                         // nil where Rivalis is not served
	bevygap       *bevygap.Face                   // nil where bevygap's clients are not served
	nats          *nats.Server                    // of game servers with bevygap's plugin; nil where they are not served
	realtime      *realtime.Server                // nil where the realtime lobby is not served
	control       *rest.HTTPServer                // of the realtime lobby's projects; nil where it is not served
	console       *rest.HTTPServer                // of the operators; nil where it is not served
	checkReady    func(ctx context.Context) error // what /readyz checks
	ticketHub     *watch.Hub                      // of players' tickets; nil when players are not served
	// of tickets and matches; it bounds how many explanations run on the replica
	explainer   *explainer.Reader
	refusalBook *refusals.Book // of all players' faces
	isWarm      atomic.Bool    // warmUp has ended
	isDraining  atomic.Bool
	stopping    chan struct{} // closed when calls that wait are to end

	// number of calls that wait for sessions; nil when game servers are not served
	waitingServers func() int
	consoleKeys    func() token.SetStatus // of the console's issuer of logins; nil: there is none
}

// New makes a replica and starts nothing. It needs no database. Errors: a missing or invalid option, metrics that are
// already registered.
func New(options Options) (*Server, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, stopping: make(chan struct{})}
	s.explainer = explainer.New(explainer.Options{Store: o.Store, Universe: o.universeName(), PlayerArg: o.PlayerArg,
		MaxCandidates: o.MaxCandidates})
	if s.refusalBook, err = refusals.New(o.Store, o.Metrics.Registerer()); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := s.mountAPI(); err != nil {
		return nil, err
	}
	config, err := o.tlsConfig()
	if err != nil {
		return nil, err
	}
	if err := s.mountOpenMatch(config); err != nil {
		return nil, err
	}
	if err := s.mountOrchestrator(config); err != nil {
		return nil, err
	}
	if err := s.mountNATS(config); err != nil {
		return nil, err
	}
	if err := s.mountRealtime(config); err != nil {
		return nil, err
	}
	if err := s.mountConsole(config); err != nil {
		return nil, err
	}
	if err := o.Metrics.Watch(o.Store, o.Keys); err != nil {
		return nil, err
	}
	if err := o.Metrics.Registerer().Register(newKeySetMetrics(s.keySets())); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.api = s.httpServer(s.publicHandler(), config, o.Addr, o.Listener)
	if o.MetricsAddr != "" || o.MetricsListener != nil { // without a write timeout: the caller chooses how long a profile takes
		s.metrics = rest.NewHTTPServer(rest.HTTPOptions{Handler: o.Metrics.Handler(), Addr: o.MetricsAddr,
			Listener: o.MetricsListener, Log: o.Log})
	}
	return s, nil
}

// httpServer makes a server of short calls. Those that wait set write deadlines of their own.
func (s *Server) httpServer(handler http.Handler, config *tls.Config, addr string,
	listener net.Listener) *rest.HTTPServer {
	return rest.NewHTTPServer(rest.HTTPOptions{
		Handler: handler, Addr: addr, Listener: listener, TLS: config.Clone(), WriteTimeout: 30 * time.Second,
		Log: s.options.Log,
	})
}

func (s *Server) mountAPI() error {
	o := s.options
	probes := slices.Clip([]string{"/healthz", "/readyz", "/.well-known/jwks.json"})
	var err error
	s.apiEngine, err = rest.New(rest.Options{
		Log: o.Log, Metrics: o.Metrics.HTTP, Tracer: o.Tracer, TrustedProxies: o.TrustedProxies,
		CORSOrigins: o.CORSOrigins,
		// whose path is secret
		QuietRoutes: append(probes, "/fleet/heartbeat"), UntracedRoutes: append(probes, "/hooks/:region/:id/:mac"),
		OnRefusal: s.refusalBook.Record,
	})
	if err != nil {
		return err
	}
	// One for all audiences: whoever guesses tokens counts wherever that is tried.
	failures := rest.NewLimiter(o.FailureRate)
	// Two gates, so that a rush of players cannot keep heartbeats out.
	servers, players := rest.NewGate(o.MaxInFlight, o.Metrics.HTTP, o.Log), rest.NewGate(o.MaxInFlight, o.Metrics.HTTP,
		o.Log)
	// Before routing: a refusal during a rush costs as little as it can.
	s.guardedEngine = players.Guard(s.apiEngine, func(r *http.Request) bool { return play.Serves(r.URL.Path) })
	if o.servesFleet() {
		s.mountFleet(servers, o.fleetTokens(failures).Handler())
	}
	if o.ServerTokens != nil {
		s.mountDeployments(servers, failures)
	}
	if o.Access.Keys != nil {
		verify, err := o.accessVerifier()
		if err != nil {
			return err
		}
		auth := []gin.HandlerFunc{rest.RequireBearer(verify, failures), rest.LimitCaller(rest.NewLimiter(o.CallerRate))}
		short := s.apiEngine.Group("", o.middlewares(players, auth...)...)
		play.Mount(short, o.Store, o.Keys, o.ConnectMinter, o.Modes, o.partyRules())
		lasting := s.apiEngine.Group("",
			slices.Concat([]gin.HandlerFunc{players.RefuseWhenFull}, auth, []gin.HandlerFunc{rest.AllowWaiting})...)
		s.mountTickets(short, lasting)
		play.MountLoginQueue(short, lasting, s.loginRoutes())
	}
	if len(o.BackendTokens) > 0 {
		if err := s.mountBackend(failures); err != nil {
			return err
		}
	}
	if len(o.OpsTokens) > 0 {
		// Few slots: operators are few, and must not take those of others.
		operators, auth := rest.NewGate(16, o.Metrics.HTTP, o.Log), rest.RequireOperator(o.OpsTokens, failures)
		short := s.apiEngine.Group("", o.middlewares(operators, auth)...)
		ops.Mount(short.Group("", o.requireHere()), o.Store, o.universeName())
		ops.MountLobby(short, o.Store)
		ops.MountPlayers(short, o.Store)
		ops.MountEvents(s.apiEngine.Group("", operators.RefuseWhenFull, auth, rest.AllowWaiting), ops.Events{
			EventLog: o.Store.Pool(), EventKinds: db.EventKinds, CallTimeout: o.CallTimeout, Stopping: s.stopping,
		})
		s.mountExplain(operators, auth)
	}
	if err := s.mountBevygap(failures); err != nil {
		return err
	}
	s.checkReady = infra.Mount(s.apiEngine, o.Keys, infra.Readiness{
		Database: o.Store, CheckWrite: s.reportState, Keys: o.Keys, MinSchema: o.MinSchema, CallTimeout: o.ReadyTimeout,
		IsDraining: s.isDraining.Load, IsWarm: s.isWarm.Load,
	})
	return nil
}

// fleetTokens returns what authenticates game servers.
func (o Options) fleetTokens(failures *rest.Limiter) rest.FleetTokens {
	return rest.FleetTokens{
		SharedSecrets: o.FleetTokens, IsOpen: o.OpenFleet, ServerTokens: o.ServerTokens, Now: o.Store.Now,
		FailureLimiter: failures,
		CheckHere:      o.Store.CheckHere,
		EnrolmentDigest: func(ctx context.Context, region string, id uuid.UUID) (*[sha256.Size]byte, error) {
			ctx, cancel := context.WithTimeout(ctx, o.CallTimeout)
			defer cancel()
			return o.Store.EnrolmentDigest(ctx, db.EnrolmentID{Region: region, ID: id})
		},
	}
}

// mountFleet mounts what game servers call.
func (s *Server) mountFleet(gate *rest.Gate, auth gin.HandlerFunc) {
	o := s.options
	fleet.Mount(s.apiEngine.Group("", o.middlewares(gate, auth)...), o.Store, o.ServerTokens)
	s.waitingServers = fleet.MountSessions(s.apiEngine.Group("", gate.RefuseWhenFull, auth, rest.AllowWaiting),
		fleet.Sessions{
			Store: o.Store, MaxWaiters: o.MaxWaiters, CallTimeout: o.CallTimeout, Stopping: s.stopping,
		})
}

// mountDeployments mounts what game servers that were built for Edgegap call, and what providers call. A webhook takes
// no place of game servers: its path is its credential, and its body is not read.
func (s *Server) mountDeployments(gate *rest.Gate, failures *rest.Limiter) {
	o := s.options
	auth := rest.DeploymentToken(o.ServerTokens, token.ForContext, failures)
	fleet.MountContext(s.apiEngine.Group("", gate.RefuseWhenFull, auth, rest.AllowWaiting), fleet.Context{
		Store: o.Store, MaxWaiters: o.MaxWaiters, CallTimeout: o.CallTimeout, Stopping: s.stopping,
	})
	providers := rest.NewGate(hooksInFlight, o.Metrics.HTTP, o.Log)
	hook.Mount(s.apiEngine.Group("", providers.RefuseWhenFull, rest.DropBody, providers.Enter,
		rest.SetDeadline(o.CallTimeout)), o.Store, o.ServerTokens)
}

// hooksInFlight bounds the webhooks that are decided at a time.
const hooksInFlight = 32

// requireHere refuses what concerns the universe, where another cell serves it.
func (o Options) requireHere() gin.HandlerFunc {
	return rest.RequireHere(o.universeName(), o.Store.CheckHere)
}

// middlewares returns the chain of one audience, game servers or players, in the order of the package comment. auth are
// the handlers that need the headers only.
func (o Options) middlewares(gate *rest.Gate, auth ...gin.HandlerFunc) []gin.HandlerFunc {
	return append(o.untimedMiddlewares(gate, auth...), rest.SetDeadline(o.CallTimeout))
}

// untimedMiddlewares returns middlewares that set no deadline.
func (o Options) untimedMiddlewares(gate *rest.Gate, auth ...gin.HandlerFunc) []gin.HandlerFunc {
	bodies := rest.NewBodies(2*o.MaxInFlight, o.BodyTimeout)
	return slices.Concat([]gin.HandlerFunc{gate.RefuseWhenFull}, auth, []gin.HandlerFunc{bodies.Read, gate.Enter})
}

// explainTimeout bounds an explanation, which waits for earlier ones and then reads the whole queue.
const explainTimeout = 20 * time.Second

func (s *Server) mountExplain(operators *rest.Gate, auth gin.HandlerFunc) {
	o := s.options
	ops.MountExplain(s.apiEngine.Group("",
		append(o.untimedMiddlewares(operators, auth), o.requireHere(), rest.SetDeadline(explainTimeout))...),
		s.explainer)
}

// mountOpenMatch mounts Open Match, if the options have it, with the settings that all faces share.
func (s *Server) mountOpenMatch(config *tls.Config) (err error) {
	o := s.options
	if o.OpenMatch == nil {
		return nil
	}
	om := *o.OpenMatch
	om.Store, om.Hub = cmp.Or[openmatch.Store](om.Store, o.Store), cmp.Or(om.Hub, s.ticketHub)
	om.Region, om.PlayerArg, om.MaxWatchers = cmp.Or(om.Region, o.universeName()), cmp.Or(om.PlayerArg,
		o.PlayerArg), cmp.Or(om.MaxWatchers, o.MaxWaiters)
	om.HTTPAddr, om.TLS, om.FailureRate = cmp.Or(om.HTTPAddr, o.apiAddr()), cmp.Or(om.TLS,
		config), cmp.Or(om.FailureRate, o.FailureRate)
	om.CheckHere = o.Store.CheckHere
	om.Log, om.Metrics, om.Tracer = cmp.Or(om.Log, o.Log), cmp.Or(om.Metrics, o.Metrics.Registerer()), cmp.Or(om.Tracer,
		o.Tracer)
	if s.openMatch, err = openmatch.New(om); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.openMatch.Mount(s.apiEngine)
	return nil
}

// apiAddr returns the address of the API, as far as it is known before Listen.
func (o Options) apiAddr() string {
	if o.Listener != nil {
		return o.Listener.Addr().String()
	}
	return o.Addr
}

// accessVerifier returns the function that verifies access tokens and returns their sub. A key set that cannot be read makes
// it return fault.Unavailable, since the token may be valid.
func (o Options) accessVerifier() (func(ctx context.Context, raw string) (string, error), error) {
	// By the database's clock, so that all replicas judge alike.
	o.Access.Now = o.Store.Now
	access, err := token.NewAccessVerifier(o.Access)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, raw string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, o.CallTimeout) // Verify may have to fetch the key set first.
		defer cancel()
		claims, err := access.Verify(ctx, raw)
		if errors.Is(err, token.ErrKeysUnavailable) {
			err = &fault.Error{
				Kind: fault.Unavailable, Code: "unavailable", Detail: "access tokens cannot be verified now",
				RetryAfter: time.Second, Err: err,
			}
		}
		return claims.Subject, err
	}, nil
}

// publicHandler removes the Origin header unless a listed page calls a player route. Other requests are then served without
// CORS headers, and the browser hides the answer from the page. rest would refuse them with 403, native clients too.
// What bevygap's clients call keeps its Origin, because that face refuses pages that are not listed.
func (s *Server) publicHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		judges := s.bevygap != nil && bevygap.Serves(r.URL.Path)
		if !judges && (!play.Serves(r.URL.Path) || !s.options.allowsOrigin(r.Header.Get("Origin"))) {
			r.Header.Del("Origin")
		}
		s.guardedEngine.ServeHTTP(w, r)
	})
}

// allowsOrigin reports whether pages of an origin may call the player routes.
func (o Options) allowsOrigin(origin string) bool {
	return slices.Contains(o.CORSOrigins, "*") || slices.Contains(o.CORSOrigins, origin)
}
