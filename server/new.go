package server

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"

	"github.com/lattice-director/director/internal/matching/explainer"
	"github.com/lattice-director/director/internal/refusals"
	"github.com/lattice-director/director/server/infra"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
)

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
	// These are mounted after the API: Open Match shares its hub of tickets, and the orchestrator its check of readiness.
	for _, mount := range []func(*tls.Config) error{s.mountOpenMatch, s.mountOrchestrator, s.mountNATS,
		s.mountRealtime, s.mountConsole} {
		if err := mount(config); err != nil {
			return nil, err
		}
	}
	if err := o.Metrics.Watch(o.Store, o.Keys); err != nil {
		return nil, err
	}
	if err := o.Metrics.Registerer().Register(newKeySetMetrics(s.keySets())); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.api = s.httpServer(s.publicHandler(), config, o.Addr, o.Listener)
	if o.MetricsAddr != "" || o.MetricsListener != nil {
		// The metrics have no write timeout: the caller chooses how long a profile of the process takes.
		s.metrics = rest.NewHTTPServer(rest.HTTPOptions{Handler: o.Metrics.Handler(), Addr: o.MetricsAddr,
			Listener: o.MetricsListener, Log: o.Log})
	}
	return s, nil
}

// mountAPI mounts what the listener of the API serves, except Open Match.
func (s *Server) mountAPI() error {
	o := s.options
	probes := []string{"/healthz", "/readyz", "/.well-known/jwks.json"}
	var err error
	s.apiEngine, err = rest.New(rest.Options{
		Log: o.Log, Metrics: o.Metrics.HTTP, Tracer: o.Tracer, TrustedProxies: o.TrustedProxies,
		CORSOrigins: o.CORSOrigins,
		// Heartbeats come all the time: a line of the log for each would hide the others.
		QuietRoutes: slices.Concat(probes, []string{"/fleet/heartbeat"}),
		// The path of a webhook is its credential, which must not get into a trace.
		UntracedRoutes: slices.Concat(probes, []string{"/hooks/:region/:id/:mac"}),
		OnRefusal:      s.refusalBook.Record,
	})
	if err != nil {
		return err
	}
	// All audiences share a limiter: guesses of tokens count wherever they are made.
	failures := rest.NewLimiter(o.FailureRate)
	// Game servers and players have a gate each, so that a rush of players cannot keep heartbeats out.
	servers := rest.NewGate(o.MaxInFlight, o.Metrics.HTTP, o.Log)
	players := rest.NewGate(o.MaxInFlight, o.Metrics.HTTP, o.Log)
	// This gate stands before routing, so that a refusal during a rush costs as little as possible.
	s.guardedEngine = players.Guard(s.apiEngine, func(r *http.Request) bool { return play.Serves(r.URL.Path) })
	if o.servesFleet() {
		s.mountFleet(servers, o.fleetTokens(failures).Handler())
	}
	if o.ServerTokens != nil {
		s.mountDeployments(servers, failures)
	}
	if o.Access.Keys != nil {
		if err := s.mountPlayers(players, failures); err != nil {
			return err
		}
	}
	if len(o.BackendTokens) > 0 {
		if err := s.mountBackend(failures); err != nil {
			return err
		}
	}
	if len(o.OpsTokens) > 0 {
		s.mountOperators(failures)
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
