package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/server"
)

func (p *program) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a replica: the API for game servers and players",
		Long: "Runs a replica of the API. Any number of replicas serve the same database, behind a load balancer that checks /readyz.\n" +
			"On SIGTERM a replica reports that it is not ready, finishes the calls in flight and exits.\n\n" +
			"A replica also starts while the database is unreachable, and becomes ready once it is reachable. It refuses to start on\n" +
			"a schema older than it needs.",
		Example: "  DATABASE_URL=postgres://director@db.internal/director director serve\n" +
			"  director serve --addr :8080 --metrics-addr :9090 --work\n" +
			"  director serve --print-config",
		Args: cli.Exactly(0),
	}
	show := cmd.Flags().Bool("print-config", false, "Print every setting with its source, secrets masked, and exit")
	p.onSettings(cmd, byServe, func(ctx context.Context, conf *loaded, _ []string) error {
		// Before the checks, so that it also shows settings that would not start.
		if *show {
			out, err := cli.OutputOf(cmd)
			if err != nil {
				return err
			}
			conf.warnIgnored(ctx, p.newLog(conf))
			return conf.printConfig(out)
		}
		if err := conf.config.checkServe(); err != nil {
			return cli.Usage(err)
		}
		return p.runServe(ctx, conf)
	})
	cli.AddOutput(cmd) // of --print-config
	return cmd
}

// runServe warns of settings that are allowed and probably mistakes, before the process opens anything.
func (p *program) runServe(ctx context.Context, conf *loaded) error {
	log := p.newLog(conf)
	conf.warnIgnored(ctx, log)
	conf.config.warnOrchestrator(ctx, log)
	conf.warnRealtime(ctx, log)
	conf.warnParties(ctx, log) // not in dev, which sets it
	proc, err := newProcess(ctx, "serve", conf, log)
	if err != nil {
		return err
	}
	defer proc.closeAll()
	// Nothing to do at the start: the log has the addresses, and only `director dev` prints them.
	return proc.serveReplica(ctx, conf.config.RunsWorker, func(*server.Server) {})
}
