package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/server"
)

func (p *program) devCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine, with a private Postgres",
		Long: "Runs a replica and a worker in one process, for development. It uses the Postgres of DATABASE_URL, or else starts a private\n" +
			"one from this machine's binaries and keeps its data in a directory between runs. It migrates the schema, creates the keys\n" +
			"that it needs, and is the login of 'director token mint'. Ctrl-C stops everything that it started.\n\n" +
			"It prints little: warnings and errors, unless --log-level says otherwise. 'director dev hints' prints everything that it serves.\n\n" +
			"Without a fleet token anybody who reaches the API can register game servers, so it then listens on loopback only.",
		Example: "  director dev\n  director dev --data ./director-data --addr 127.0.0.1:8081\n  director dev --pools pools.yaml  # servers start when players need them",
		Args:    cli.Exactly(0),
	}
	p.onSettings(cmd, byDev, func(ctx context.Context, conf *loaded, _ []string) error {
		if err := conf.config.allowOpenFleet(); err != nil {
			return cli.Usage(err)
		}
		return p.runDevelopment(ctx, conf, (*devRun).printWelcome)
	})
	cmd.AddCommand(p.devHints())
	return cmd
}

func (p *program) devHints() *cobra.Command {
	return p.onSettings(&cobra.Command{
		Use:     "hints",
		Short:   "Print what a running 'director dev' serves, and commands to try",
		Long:    "Prints all addresses of a 'director dev' that runs on this machine, and commands with which you act as a game server and as a player.",
		Example: "  director dev hints\n  director dev hints --data ./director-data",
		Args:    cli.Exactly(0),
	}, byHints, func(_ context.Context, conf *loaded, _ []string) error {
		data, err := conf.config.findDataDir()
		if err != nil {
			return err
		}
		hints, err := data.runningHints()
		if err != nil {
			return err
		}
		_, err = io.WriteString(p.stdout, hints)
		return err
	})
}

// allowOpenFleet lets game servers register without a fleet token. It refuses to do so beyond loopback, unless the
// settings allow it.
func (c *Config) allowOpenFleet() error {
	host, _, err := net.SplitHostPort(c.Server.Addr)
	if err != nil {
		return err
	}
	ip := net.ParseIP(host)
	if len(c.Server.FleetTokens) == 0 && !c.Server.OpenFleet && host != "localhost" && !ip.IsLoopback() {
		return fmt.Errorf("%s can be reached from elsewhere, where anybody could register game servers: "+
			"set DIRECTOR_FLEET_TOKEN, or allow it with --allow-open-fleet", c.Server.Addr)
	}
	// Without it, the server refuses game servers without a credential.
	c.Server.OpenFleet = true
	return nil
}

// runDevelopment runs everything until ctx ends, and calls started once the replica is ready.
func (p *program) runDevelopment(ctx context.Context, conf *loaded, started func(*devRun, *server.Server)) (err error) {
	if conf.sourceOf("log-level") == fromDefault {
		conf.config.LogLevel = "warn" // info would repeat what `dev` prints and what callers get
	}
	d := &devRun{stdout: p.stdout, conf: conf, log: p.newLog(conf)}
	if conf.config.PoolsFile != "" {
		// Before Postgres starts, which takes seconds: a mistake in the file is reported at once.
		if d.poolFile, err = p.readPools(conf.config.PoolsFile); err != nil {
			return err
		}
	}
	// Before Postgres starts: a misspelt variable shows above what takes seconds.
	conf.warnIgnored(ctx, d.log)
	if d.dataDir, err = conf.config.findDataDir(); err != nil {
		return err
	}
	if err := d.dataDir.create(); err != nil {
		return err
	}
	if conf.config.Database.URL == "" {
		var stop func() error
		// From here on ctx also ends when Postgres dies.
		if ctx, stop, err = d.startPostgres(ctx); err != nil {
			return err
		}
		// Deferred first, so that it runs after everything that uses the database has ended.
		defer func() { err = errors.Join(err, stop()) }()
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	// After prepare, which fills in the providers.
	retract, err := d.dataDir.publishProviders(devProviders{d.conf.config.ProviderNames, d.conf.config.Processes.Commands})
	if err != nil {
		return err
	}
	defer retract()
	// After prepare: it warns of missing addresses, which prepare fills in.
	conf.warnRealtime(ctx, d.log)
	return d.serveAll(ctx, started)
}

// postgresStopTimeout is how long Postgres may wait for busy connections. The kill after it loses no data.
const postgresStopTimeout = 20 * time.Second

// startPostgres runs the private cluster. The returned context also ends when the cluster does.
func (d *devRun) startPostgres(ctx context.Context) (running context.Context, stop func() error, err error) {
	// Durable: what the directory keeps between runs must survive a crash of the machine.
	d.privateCluster, err = pglocal.Start(ctx, pglocal.Options{Dir: string(d.dataDir), Durable: true, Log: d.log})
	if inUse := (*pglocal.InUseError)(nil); errors.As(err, &inUse) {
		return nil, nil, fmt.Errorf("another 'director dev' runs in %s: stop it, or use another directory with --data",
			d.dataDir)
	}
	if err != nil {
		return nil, nil, err
	}
	d.conf.config.Database.URL = d.privateCluster.URL("postgres")
	// A DATABASE_URL_DIRECT of the environment is replaced: it is of another database.
	d.conf.config.Database.DirectURL = d.conf.config.Database.URL
	retract, err := d.dataDir.publishDatabase(d.conf.config.Database.URL)
	if err != nil {
		return nil, nil, errors.Join(err, d.privateCluster.StopImmediate())
	}
	// The context has a cause, so that the error of the command names what Postgres said.
	running, end := context.WithCancelCause(ctx)
	died := d.privateCluster.Done()
	// The replica and the worker end with Postgres: without a database they would only log errors.
	go func() { <-died; end(d.privateCluster.Err()) }()
	return running, func() error {
		// First: commands in other terminals would connect to a server that stops.
		retract()
		ctx, cancel := context.WithTimeout(context.Background(), postgresStopTimeout)
		defer cancel()
		return errors.Join(d.privateCluster.Err(), d.privateCluster.Stop(ctx))
	}, nil
}

// serveAll serves until ctx ends. What other terminals read is published once the replica is ready, and removed before
// it returns.
func (d *devRun) serveAll(ctx context.Context, started func(*devRun, *server.Server)) error {
	// After prepare, which has filled in the secrets that the process seals and signs with.
	proc, err := newProcess(ctx, "dev", d.conf, d.log)
	if err != nil {
		return err
	}
	defer proc.closeAll()
	// Before the lobby listens, so that its first client finds the project.
	if err := proc.makeDemoProject(ctx); err != nil {
		return err
	}
	// Does nothing until the hints are published: an earlier failure has nothing to remove.
	retract := func() {}
	defer func() { retract() }()
	return proc.serveReplica(ctx, true, func(s *server.Server) {
		var err error
		if retract, err = d.dataDir.publishHints(d.hintsText(s)); err != nil {
			// No reason to stop: everything else works.
			d.log.LogAttrs(ctx, slog.LevelWarn, "'director dev hints' has nothing to print", slog.Any("error", err))
		}
		started(d, s)
	})
}
