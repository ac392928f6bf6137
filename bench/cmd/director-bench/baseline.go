package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/openmatch"
	"github.com/lattice-director/director/bench/realtime"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/connect"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/fleet"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/telemetry"
	"github.com/lattice-director/director/token"
)

// baseline is the command of the processes that [lab.Lab.Baselines] starts.
func (p *program) baseline() *cobra.Command {
	cmd := &cobra.Command{
		Use:    lab.BaselineCommand,
		Hidden: true, // a laboratory starts it; it is not for real players
		Short:  "Serve the baselines that a director is compared with",
		Long: "Reads the variables that a laboratory sets for its processes and answers the same calls as a director, but places players\n" +
			"as most people write it first: each call in its own transaction, with SKIP LOCKED. POST /noop answers like /matchmake and\n" +
			"POST /fleet/noop like /fleet/heartbeat, both without the database, as does CreateTicket over gRPC,\n" +
			"and handshakes and calls of the realtime lobby.",
		Args: cli.Exactly(0),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.serveBaselines(cmd.Context()) }
	return cmd
}

// serveBaselines serves the baselines beside a replica that gets no calls: the replica maintains the keys and the
// clock, as it does in the product, and serves the metrics.
func (p *program) serveBaselines(ctx context.Context) error {
	registry := prometheus.NewRegistry()
	options, err := p.baselineOptions(ctx, registry)
	if err != nil {
		return err
	}
	defer options.Store.Close()
	handler, err := baselineHandler(options)
	if err != nil {
		return err
	}
	replica, err := server.New(options)
	if err != nil {
		return err
	}
	// When one ends, all end: a laboratory must not measure half of its baselines.
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return replica.Run(ctx) })
	running.Go(func() error { return serveUntil(ctx, p.variable("DIRECTOR_ADDR"), handler) })
	if addr := p.variable("DIRECTOR_GRPC_ADDR"); addr != "" {
		running.Go(func() error { return openmatch.ServeEcho(ctx, addr) })
	}
	if addr := p.variable("DIRECTOR_REALTIME_ADDR"); addr != "" {
		running.Go(func() error { return serveUntil(ctx, addr, realtime.Echo()) })
	}
	return running.Wait()
}

// baselineOptions are those of a replica in a laboratory, on any free port.
func (p *program) baselineOptions(ctx context.Context, registry *prometheus.Registry) (o server.Options, err error) {
	kek, failed := base64.StdEncoding.DecodeString(p.variable("DIRECTOR_KEY_ENCRYPTION_KEY"))
	sealer, err := token.NewSealer(kek)
	if err := errors.Join(failed, err); err != nil {
		return o, fmt.Errorf("DIRECTOR_KEY_ENCRYPTION_KEY: %w", err)
	}
	inFlight, err := strconv.Atoi(p.variable("DIRECTOR_MAX_IN_FLIGHT"))
	if err != nil {
		return o, fmt.Errorf("DIRECTOR_MAX_IN_FLIGHT: %w", err)
	}
	keys, err := token.NewKeySource(p.variable("DIRECTOR_AUTH_JWKS"), token.SourceOptions{})
	if err != nil {
		return o, fmt.Errorf("DIRECTOR_AUTH_JWKS: %w", err)
	}
	metrics, err := telemetry.New(registry, version)
	if err != nil {
		return o, err
	}
	store, err := db.Open(ctx, db.Config{URL: p.variable("DATABASE_URL"), Observer: metrics})
	if err != nil {
		return o, err
	}
	schedule := keyring.DefaultSchedule()
	schedule.TokenTTL = store.Timing().TokenTTL
	return server.Options{
		Store: store, Keys: keyring.New(store, sealer, token.AlgEdDSA, schedule), ConnectMinter: connect.New(sealer),
		Access:      token.AccessConfig{Keys: keys},
		FleetTokens: []string{p.variable("DIRECTOR_FLEET_TOKEN")}, OpenParties: true, MaxInFlight: inFlight,
		CallerRate: rest.Rate{PerSecond: -1}, // none, as of the laboratory's director
		// The baselines have the address of the process: nobody calls this replica.
		Addr: "127.0.0.1:0", MetricsAddr: p.variable("DIRECTOR_METRICS_ADDR"),
		CallTimeout: server.Defaults().CallTimeout,
		Metrics:     metrics,
	}, nil
}

// serveUntil serves as a replica does until ctx ends, and then closes all connections at once: a laboratory ends its
// processes only when it has all answers.
func serveUntil(ctx context.Context, addr string, handler http.Handler) error {
	s := rest.NewHTTPServer(rest.HTTPOptions{Handler: handler, Addr: addr, WriteTimeout: 30 * time.Second})
	if err := s.Listen(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	return s.Serve()
}

// baselineHandler returns the handler of the calls that a replica has, and of the two calls without a database.
func baselineHandler(o server.Options) (http.Handler, error) {
	naive, err := productHandler(o, baseline.Naive{Store: o.Store})
	if err != nil {
		return nil, err
	}
	constant, err := productHandler(o, baseline.ConstantStore{Store: o.Store})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", naive)
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {}) // it listens
	mux.Handle("/noop", at("/matchmake", constant))
	mux.Handle("/fleet/noop", at("/fleet/heartbeat", constant))
	return mux, nil
}

// at handles requests as if they had another path.
func at(path string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A handler must not change its request: the next one gets a copy.
		there, url := *r, *r.URL
		url.Path, url.RawPath = path, ""
		there.URL = &url
		handler.ServeHTTP(w, &there)
	})
}

// productHandler returns the handlers of players and game servers of server.Server with another store.
func productHandler(o server.Options, store interface {
	fleet.Store
	play.Store
},
) (http.Handler, error) {
	o.Access.Now = o.Store.Now
	access, err := token.NewAccessVerifier(o.Access)
	if err != nil {
		return nil, err
	}
	verify := func(ctx context.Context, raw string) (string, error) {
		claims, err := access.Verify(ctx, raw)
		return claims.Subject, err
	}
	log := slog.New(slog.DiscardHandler)
	engine, err := rest.New(rest.Options{Log: log, Metrics: o.Metrics.HTTP})
	if err != nil {
		return nil, err
	}
	failures := rest.NewLimiter(o.FailureRate)
	bodies, gate := rest.NewBodies(2*o.MaxInFlight, 5*time.Second), rest.NewGate(o.MaxInFlight, nil, log)
	deadline := rest.SetDeadline(o.CallTimeout)
	gameServers := rest.FleetTokens{SharedSecrets: o.FleetTokens, FailureLimiter: failures}.Handler()
	fleet.Mount(engine.Group("", gameServers, bodies.Read, gate.Enter, deadline), store, nil)
	limit := rest.LimitCaller(rest.NewLimiter(o.CallerRate))
	play.Mount(engine.Group("", rest.RequireBearer(verify, failures), limit, bodies.Read, gate.Enter, deadline), store,
		o.Keys, o.ConnectMinter, o.Modes, play.Parties{AreOpen: o.OpenParties})
	return engine, nil
}
