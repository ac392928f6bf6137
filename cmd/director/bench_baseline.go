package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/openmatch"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/migrations"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/fleet"
	"github.com/lattice-director/director/server/infra"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

func (p *program) benchBaseline() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "bench-baseline",
		Hidden: true, // nobody should let players on it
		Short:  "Serve what 'director bench' compares a director with",
		Long: "Takes the settings of 'serve' and answers the same calls, but places players as most people write it first: each by itself,\n" +
			"with SKIP LOCKED. POST /noop answers what /matchmake answers, and POST /fleet/noop what /fleet/heartbeat does, without asking\n" +
			"the database; nor do CreateTicket and QueryTickets over gRPC.",
		Example: "  director bench-baseline --addr 127.0.0.1:8081\n  director bench matchmake --url http://127.0.0.1:8081",
		Args:    cli.Exactly(0),
	}
	addFlags(cmd.Flags(), byServe)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		conf, err := load(cmd.Flags(), p.environ, byServe)
		if err != nil {
			return err
		}
		if err := conf.checkServe(); err != nil {
			return cli.Usage(err)
		}
		return p.runBaseline(cmd.Context(), conf)
	}
	return cmd
}

func (p *program) runBaseline(ctx context.Context, conf *loaded) error {
	proc, err := newProcess(ctx, conf, p.newLog(conf))
	if err != nil {
		return err
	}
	defer proc.close()
	if err := proc.checkSchema(ctx); err != nil {
		return err
	}
	options, err := proc.serverOptions(ctx)
	if err != nil {
		return err
	}
	if !conf.Work {
		return proc.serveBaselines(ctx, options)
	}
	w, err := proc.worker()
	if err != nil {
		return err
	}
	return beside(ctx, w, func(ctx context.Context) error { return proc.serveBaselines(ctx, options) })
}

// serveBaselines runs them beside a replica that nobody calls: it keeps the keys, the clock and the pulse going, as it
// does in the product, and shows the metrics of both.
func (p *process) serveBaselines(ctx context.Context, options server.Options) error {
	handler, err := baselines(options)
	if err != nil {
		return err
	}
	options.Addr, options.Log, options.TLSCert, options.TLSKey, options.OpenMatch = "127.0.0.1:0", nil, "", "", nil
	replica, err := server.New(options)
	if err != nil {
		return err
	}
	if err := replica.Listen(ctx); err != nil {
		return listenError(err, serversAddrs)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.conf.Addr)
	if err != nil {
		return listenError(err, serversAddrs)
	}
	attrs := []slog.Attr{slog.String("addr", listener.Addr().String())}
	if metrics := replica.MetricsAddr(); metrics != nil {
		attrs = append(attrs, slog.String("metrics_addr", metrics.String()))
	}
	p.log.LogAttrs(ctx, slog.LevelInfo, "listening", attrs...)
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return replica.Run(ctx) })
	running.Go(func() error { return serveUntil(ctx, listener, handler, p.conf.ShutdownBudget) })
	for _, addr := range p.conf.GRPCAddrs {
		running.Go(func() error { return serveEcho(ctx, addr) })
	}
	return running.Wait()
}

// serveEcho answers what Open Match's frontends and match functions ask without a database.
func serveEcho(ctx context.Context, addr string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return listenError(err, serversAddrs)
	}
	return openmatch.ServeEcho(ctx, listener)
}

// serveUntil has the limits of server.Server. It finishes the calls under way when ctx ends.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler, patience time.Duration) error {
	s := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 90 * time.Second, MaxHeaderBytes: 32 << 10,
	}
	finished := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		finished <- s.Shutdown(ctx)
	})
	defer stop()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-finished
}

// baselines answer what a replica answers, and the two calls that ask no database.
func baselines(o server.Options) (http.Handler, error) {
	naive, err := stack(o, baseline.Naive{Store: o.Store})
	if err != nil {
		return nil, err
	}
	still, err := stack(o, baseline.Still{Store: o.Store})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", naive)
	mux.Handle("/noop", at("/matchmake", still))
	mux.Handle("/fleet/noop", at("/fleet/heartbeat", still))
	return mux, nil
}

// at hands requests on as if they were for another path.
func at(path string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there, url := *r, *r.URL
		url.Path, url.RawPath = path, ""
		there.URL = &url
		handler.ServeHTTP(w, &there)
	})
}

// stack is what server.Server serves and what stands before it, with another store behind it.
func stack(o server.Options, store interface {
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
	engine, err := rest.New(rest.Options{
		Log: o.Log, Metrics: o.Metrics.HTTP, Tracer: o.Tracer, TrustedProxies: o.TrustedProxies,
		QuietRoutes: []string{"/healthz", "/readyz", "/.well-known/jwks.json"},
	})
	if err != nil {
		return nil, err
	}
	failures := rest.NewLimiter(o.FailureRate)
	calls := engine.Group("", rest.NewGate(o.MaxInFlight, nil, o.Log).Enter, rest.Deadline(o.CallTimeout))
	fleet.Mount(calls.Group("", rest.FleetToken(o.FleetTokens, o.OpenFleet, failures)), store)
	play.Mount(calls.Group("", rest.Bearer(verify, failures), rest.LimitCaller(rest.NewLimiter(o.CallerRate))), store, o.Keys, o.Modes)
	infra.Mount(engine, o.Keys, infra.Readiness{
		Database: o.Store, Keys: o.Keys, Schema: migrations.Latest(), Timeout: o.CallTimeout, Draining: func() bool { return false },
	})
	return engine, nil
}
