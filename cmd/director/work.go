package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/server/rest"
)

func (p *program) workCommand() *cobra.Command {
	return p.onSettings(&cobra.Command{
		Use:   "work",
		Short: "Run a worker: reap, rotate, prune",
		Long: "Runs a worker: it ends instances whose lease has expired, frees seats whose player did not connect, rotates the signing\n" +
			"keys and deletes old data. Any number of workers may run; one is enough. A worker waits while the database is\n" +
			"unreachable.",
		Example: "  DATABASE_URL=postgres://director@db.internal/director director work\n" +
			"  director work --metrics-addr :9090",
		Args: cli.Exactly(0),
	}, byWork, func(ctx context.Context, conf *loaded, _ []string) error {
		// Not checkServe: a worker has no listener but that of metrics.
		if err := conf.config.checkCommon(); err != nil {
			return cli.Usage(err)
		}
		return p.runWork(ctx, conf)
	})
}

// runWork runs a worker until ctx ends. Without --metrics-addr the process listens nowhere.
func (p *program) runWork(ctx context.Context, conf *loaded) error {
	log := p.newLog(conf)
	conf.warnIgnored(ctx, log)
	proc, err := newProcess(ctx, "work", conf, log)
	if err != nil {
		return err
	}
	defer proc.closeAll()
	// Deferred after closeAll, so that it runs before the store is closed.
	defer proc.endReport(ctx)
	w, err := proc.makeWorker()
	if err != nil {
		return err
	}
	if conf.config.Server.MetricsAddr == "" {
		log.LogAttrs(ctx, slog.LevelInfo, "working")
		w.Run(ctx) // returns when all loops have ended
		return nil
	}
	// Before the worker runs: a port that is taken fails the start, and not a worker in the middle of its work.
	serveMetrics, err := proc.listenMetrics(ctx)
	if err != nil {
		return err
	}
	return runWithWorker(ctx, w, serveMetrics)
}

// listenMetrics listens for scrapes. The returned function serves /metrics and /debug/pprof/ until its context ends.
func (p *process) listenMetrics(ctx context.Context) (serve func(context.Context) error, err error) {
	// Of its own: a worker has no replica whose listeners could serve it.
	s := rest.NewHTTPServer(rest.HTTPOptions{Handler: p.metrics.Handler(), Addr: p.conf.config.Server.MetricsAddr, Log: p.log})
	if err := s.Listen(ctx); err != nil {
		return nil, listenError(err, "--metrics-addr")
	}
	return func(ctx context.Context) error {
		// Without waiting for calls in flight: a scrape may fail.
		stop := context.AfterFunc(ctx, func() { _ = s.Close() })
		defer stop()
		p.log.LogAttrs(ctx, slog.LevelInfo, "working", slog.String("metrics", s.ListenAddr().String()))
		return s.Serve()
	}, nil
}
