package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/internal/connect"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/token"
	"github.com/lattice-director/director/worker"
)

// serveReplica runs a replica, optionally with a worker, until ctx ends. It calls started once the replica is ready,
// and returns after that call has.
func (p *process) serveReplica(ctx context.Context, withWorker bool, started func(*server.Server)) error {
	s, w, err := p.makeReplica(ctx, withWorker)
	if err != nil {
		return err
	}
	// All listeners or none: an address that is taken fails the start, and not a part of the API.
	if err := s.Listen(ctx); err != nil {
		return listenError(err, serversAddrs)
	}
	// Before the worker runs: servers that it starts get these addresses.
	p.listenAddrs.Store(&listenAddrs{s.Addr(), s.NATSAddr()})
	readyCtx, stop := context.WithCancel(ctx)
	var announcing sync.WaitGroup
	announcing.Go(func() {
		if awaitReady(readyCtx, s) {
			started(s)
		}
	})
	err = runWithWorker(ctx, w, s.Run)
	stop() // for a server that has failed
	announcing.Wait()
	return err
}

// readyPoll is how often awaitReady asks. The replica bounds how often that costs a query.
const readyPoll = 20 * time.Millisecond

// awaitReady waits until a replica is ready; false: ctx ended before.
func awaitReady(ctx context.Context, s *server.Server) bool {
	for s.Ready(ctx) != nil {
		if !wait.For(ctx, readyPoll) {
			return false
		}
	}
	return true
}

// makeReplica makes a server, and a worker that shares its matchmaker, or nil.
func (p *process) makeReplica(ctx context.Context, withWorker bool) (s *server.Server, w *worker.Worker, err error) {
	options, err := p.serverOptions(ctx)
	if err != nil {
		return nil, nil, err
	}
	// Before the server: the matchmaker that both share is made with the worker's loop.
	if withWorker {
		if w, err = p.makeWorker(); err != nil {
			return nil, nil, err
		}
		if options.OpenMatch != nil {
			// One matchmaker, so that cycles of clients and of the loop share its connections and its memory.
			options.OpenMatch.Matchmaker = p.matchmaker
		}
	}
	s, err = server.New(options)
	return s, w, err
}

// runWithWorker calls run, and runs the worker, if there is one, until run has returned.
func runWithWorker(ctx context.Context, w *worker.Worker, run func(context.Context) error) error {
	if w == nil {
		return run(ctx)
	}
	workerCtx, stop := context.WithCancel(ctx)
	// Both end by ctx: the worker at once, while the replica still serves for its drain delay.
	var loops sync.WaitGroup
	loops.Go(func() { w.Run(workerCtx) })
	err := run(ctx)
	stop() // for a server that has failed: ctx has not ended, and the process is to end
	loops.Wait()
	return err
}

// serversAddrs are the flags of a replica's listeners.
const serversAddrs = "--addr, --grpc-addr, --orchestrator-addr, --bevygap-nats-addr, --realtime-addr, " +
	"--realtime-control-addr, --console-addr or --metrics-addr"

// listenError adds the flags that choose another address, since the usual reason is one that is taken.
func listenError(err error, flags string) error {
	return fmt.Errorf("%w; choose another address with %s (:0 is any free port)", err, flags)
}

// serverOptions joins the options of the settings with what the process has opened. A face that is not served has nil
// options.
func (p *process) serverOptions(ctx context.Context) (server.Options, error) {
	c := p.conf
	o := c.config.Server
	var err error
	if o.Access.Keys, err = p.accessKeys(ctx); err != nil {
		return o, err
	}
	// No mistake, but a surprise for an operator who expects a shared token.
	if len(o.FleetTokens) == 0 && !o.OpenFleet {
		p.log.Info("only game servers with a credential of their own are served, of deployments and by enrolments " +
			"(director enrolments create): DIRECTOR_FLEET_TOKEN is not set")
	}
	if o.Realtime, err = c.config.realtimeOptions(p.sealer); err != nil {
		return o, err
	}
	o.OpenMatch = c.config.openMatchOptions()
	o.Orchestrator = c.config.orchestratorOptions()
	o.Bevygap = c.config.bevygapOptions()
	o.NATS = c.config.natsOptions()
	o.Projects = c.config.projectsOptions(p.sealer)
	o.Console = c.config.consoleOptions(p.sealer)
	o.Store = p.store
	// A ring of its own, with the schedule of the settings: a replica makes a key as well, where none signs.
	o.Keys = keyring.New(p.store, p.sealer, c.config.Worker.Alg, c.config.keySchedule())
	o.ConnectMinter = connect.New(p.sealer)
	o.ServerTokens = p.sealer.ServerTokens()
	o.Log, o.Tracer, o.Metrics = p.log, p.tracing.tracerProvider(), p.metrics
	return o, nil
}

// accessKeys returns the keys that verify access tokens, or nil if no key set is configured. A key set from a file or
// JSON must be readable at the start. One from a URL is read in the background, and errors go to the log.
func (p *process) accessKeys(ctx context.Context) (*token.KeySource, error) {
	c := p.conf
	if c.config.JWKS == "" {
		p.log.Info("players are not served: DIRECTOR_AUTH_JWKS is not set")
		return nil, nil //nolint:nilnil // token.AccessConfig: nil is none
	}
	keys, err := token.NewKeySource(c.config.JWKS, token.SourceOptions{PlainHTTP: c.config.JWKSPlainHTTP, Log: p.log})
	if err != nil {
		return nil, fmt.Errorf("DIRECTOR_AUTH_JWKS: %w", err)
	}
	// A login that is down for a moment must not keep a replica from starting.
	if strings.Contains(c.config.JWKS, "://") {
		go func() { _, _ = keys.Keys(ctx) }() // the key source logs errors, and later calls read it again
		return keys, nil
	}
	// A file or JSON that cannot be read now will not change by itself: the start fails.
	if _, err := keys.Keys(ctx); err != nil {
		return nil, fmt.Errorf("DIRECTOR_AUTH_JWKS: %w", err)
	}
	return keys, nil
}

// makeWorker makes the worker of this process, with its loops for matches and deployments where the settings have them.
func (p *process) makeWorker() (*worker.Worker, error) {
	loopOptions, err := p.makeLoopOptions()
	if err != nil {
		return nil, err
	}
	// Processes that `director dev` starts end with it, as everything else that it starts; those of other commands
	// survive a restart of the worker.
	keepsServers := !p.conf.config.isDevelopment
	providers, provisioning, err := p.makeProviders(keepsServers)
	if err != nil {
		return nil, err
	}
	o := p.conf.config.Worker
	o.Store, o.Sealer, o.Policy = p.store, p.sealer, p.conf.config.keySchedule().Policy()
	o.MatchLoop, o.Providers, o.Provision = loopOptions, providers, provisioning
	o.Doctor = p.conf.config.doctorOptions()
	o.Reports = p.commandName == "work" // beside a replica, the replica reports the process
	o.Log, o.Metrics = p.log, p.metricsRegistry
	return worker.New(o)
}
