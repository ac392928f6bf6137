package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/server/telemetry"
)

// part is a part of a replica with a listener of its own.
type part interface {
	Listen(ctx context.Context) error
	Serve() error
}

// listeningParts returns those that are served.
func (s *Server) listeningParts() []part {
	all := []part{s.api}
	if s.openMatch != nil {
		all = append(all, s.openMatch)
	}
	if s.agents != nil {
		all = append(all, s.agents.connections)
	}
	if s.nats != nil {
		all = append(all, s.nats)
	}
	if s.realtime != nil {
		all = append(all, s.realtime)
	}
	for _, h := range s.moreServers() {
		all = append(all, h)
	}
	return all
}

// moreServers returns the servers of HTTP beside the API that are served.
func (s *Server) moreServers() (all []*rest.HTTPServer) {
	for _, h := range []*rest.HTTPServer{s.control, s.console, s.metrics} {
		if h != nil {
			all = append(all, h)
		}
	}
	return all
}

// Listen opens the listeners that the options do not hold. Run calls it; call it before to learn the addresses.
func (s *Server) Listen(ctx context.Context) error {
	for _, p := range s.listeningParts() {
		if err := p.Listen(ctx); err != nil {
			return err
		}
	}
	return nil
}

// The addresses, after Listen. Each is nil where that part is not served.

// Addr returns the address of the API.
func (s *Server) Addr() net.Addr { return s.api.ListenAddr() }

// MetricsAddr returns the address of the metrics.
func (s *Server) MetricsAddr() net.Addr { return s.metrics.ListenAddr() }

// ConsoleAddr returns the address of the console.
func (s *Server) ConsoleAddr() net.Addr { return s.console.ListenAddr() }

// RealtimeControlAddr returns the address of the control API of the realtime lobby.
func (s *Server) RealtimeControlAddr() net.Addr { return s.control.ListenAddr() }

// RealtimeAddr returns the address of the realtime lobby.
func (s *Server) RealtimeAddr() net.Addr {
	if s.realtime == nil {
		return nil
	}
	return s.realtime.Addr()
}

// NATSAddr returns the address for game servers with bevygap's plugin.
func (s *Server) NATSAddr() net.Addr {
	if s.nats == nil {
		return nil
	}
	return s.nats.Addr()
}

// OrchestratorAddr returns the address of the orchestrator.
func (s *Server) OrchestratorAddr() net.Addr {
	if s.agents == nil {
		return nil
	}
	return s.agents.connections.Addr()
}

// GRPCAddrs returns the addresses of gRPC.
func (s *Server) GRPCAddrs() []net.Addr {
	if s.openMatch == nil {
		return nil
	}
	return s.openMatch.Addrs()
}

// Run serves until ctx ends or a listener fails. When ctx ends, readiness fails while Run still serves for the drain
// delay. Then Run waits for the calls in flight and returns. The database need not be up. Errors: that of a listener;
// calls that did not finish within the shutdown timeout and were cut off.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Listen(ctx); err != nil {
		return err
	}
	// Not ended by ctx: keys, clock and pulse are needed until the last call is answered.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	for _, run := range s.backgroundRuns() {
		running.Go(func() { run(background) })
	}
	parts := s.listeningParts()
	// With room for each of them: nobody reads a second error, and no goroutine may stay behind with it.
	failed := make(chan error, len(parts))
	for _, p := range parts {
		running.Go(func() { failed <- p.Serve() })
	}
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "listening",
		slog.String("addr", addrList(s.Addr())), slog.String("grpc_addr", addrList(s.GRPCAddrs()...)),
		slog.String("orchestrator_addr", addrList(s.OrchestratorAddr())),
		slog.String("bevygap_nats_addr", addrList(s.NATSAddr())),
		slog.String("realtime_addr", addrList(s.RealtimeAddr())),
		slog.String("realtime_control_addr", addrList(s.RealtimeControlAddr())),
		slog.String("console_addr", addrList(s.ConsoleAddr())),
		slog.String("metrics_addr", addrList(s.MetricsAddr())), slog.Bool("tls", s.options.usesTLS()))

	var err error
	select {
	case err = <-failed:
	// No delay after a failure: a part of the replica serves nobody any more.
	case <-ctx.Done():
		s.drainReplica(background)
	}
	err = errors.Join(err, s.finishCalls(background))
	stop()
	running.Wait()
	// After the loops have ended, which would store the same.
	s.recordRest(ctx)
	return err
}

// recordRest records the refusals and requests of the last seconds, and that this replica has ended.
func (s *Server) recordRest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loopTimeout)
	defer cancel()
	_ = s.refusalBook.Flush(ctx) // the database is away: the loop has logged it
	_ = s.countRequests(ctx)
	_ = s.options.Store.EndReport(ctx)
}

// drainReplica makes readiness fail and waits, still serving, until load balancers have noticed.
func (s *Server) drainReplica(ctx context.Context) {
	s.isDraining.Store(true)
	if s.openMatch != nil {
		s.openMatch.Drain()
	}
	if s.realtime != nil {
		s.realtime.Drain()
	}
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "draining", slog.Duration("delay", s.options.DrainDelay))
	delay := time.NewTimer(s.options.DrainDelay)
	defer delay.Stop()
	<-delay.C
}

// finishCalls waits for the calls in flight and for the store's batches. The metrics are served until then.
func (s *Server) finishCalls(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.ShutdownTimeout)
	defer cancel()
	close(s.stopping) // Shutdown waits for the calls that it ends.
	if s.openMatch != nil {
		s.openMatch.EndStreams() // It also ends the streams over HTTP, which Shutdown waits for.
	}
	// All at once, since each of them may need the whole time.
	err := joinAll(ctx, s.stopFuncs())
	if s.openMatch != nil {
		// After the HTTP servers: calls of the REST mapping run over its connection.
		err = errors.Join(err, s.openMatch.Stop(ctx))
	}
	if err == nil {
		// Only if every call has ended: what was cut off may still add to batches.
		err = s.options.Store.Drain(ctx)
	}
	if err != nil {
		err = fmt.Errorf("calls did not end within %s and were cut off: %w", s.options.ShutdownTimeout, err)
	}
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "stopped", slog.Bool("clean", err == nil))
	for _, h := range append(s.moreServers(), s.api) {
		err = errors.Join(err, h.Close())
	}
	return err
}

// stopFuncs returns what waits for calls in flight, and closes connections, when the replica stops. The metrics are served
// until then.
func (s *Server) stopFuncs() []func(context.Context) error {
	all := []func(context.Context) error{s.api.Shutdown}
	if s.agents != nil {
		all = append(all, s.agents.stopAll)
	}
	if s.bevygap != nil {
		all = append(all, s.bevygap.Stop)
	}
	if s.nats != nil {
		all = append(all, s.nats.Stop)
	}
	if s.realtime != nil {
		all = append(all, s.realtime.Stop)
	}
	for _, h := range []*rest.HTTPServer{s.control, s.console} {
		if h != nil {
			all = append(all, h.Shutdown)
		}
	}
	return all
}

// joinAll calls functions at the same time and joins their errors.
func joinAll(ctx context.Context, all []func(context.Context) error) error {
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, do := range all {
		running.Go(func() { errs[i] = do(ctx) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// addrList formats addresses for the log: slog's JSON handler would encode them as structs.
func addrList(addrs ...net.Addr) string {
	var list []string
	for _, addr := range addrs {
		if addr != nil {
			list = append(list, addr.String())
		}
	}
	return strings.Join(list, ",")
}

// backgroundRuns returns what runs until the replica has stopped.
func (s *Server) backgroundRuns() []func(context.Context) {
	all := []func(context.Context){s.warmUp}
	for _, l := range s.repeatedLoops() {
		all = append(all, l.Run)
	}
	if s.ticketHub != nil {
		all = append(all, func(ctx context.Context) { _ = s.ticketHub.Run(ctx) }) // its only error is a second Run
	}
	if s.bevygap != nil {
		all = append(all, s.bevygap.Run)
	}
	if s.openMatch != nil {
		all = append(all, s.openMatch.Run)
	}
	if s.agents != nil {
		all = append(all, s.agents.runAll)
	}
	if s.realtime != nil {
		all = append(all, s.realtime.Run)
	}
	return all
}

// loopTimeout bounds one run, so that a database that does not answer cannot stop the retries.
const loopTimeout = 2 * time.Second

// reportEvery is the interval of the reports in ops.process_reports: doctor takes a process for frozen that misses
// three.
const reportEvery = 5 * time.Second

// reportState stores what this replica reports of itself, and tests whether the database takes writes.
func (s *Server) reportState(ctx context.Context) error {
	return s.options.Store.Report(ctx, s.keySetTroubles())
}

// repeatedLoops returns what a replica repeats, after failures too.
func (s *Server) repeatedLoops() []follow.Loop {
	o := s.options
	pulse := min(time.Second, o.Store.Timing().LeaseTTL/10)
	outages, guard := outage.New(o.Log), panics.New(o.Log, nil)
	cells, _ := o.Store.Subscribe(db.TopicCells, "") // ends with the store
	// loop runs again after each interval, or when wake says so, but not before retry is over: this bounds the load on
	// the database, however often the loop is woken.
	loop := func(name string, every, retry time.Duration, do func(context.Context) error,
		wake <-chan struct{}) follow.Loop {
		return follow.Loop{
			Name: name, Every: every, Retry: retry, Timeout: loopTimeout, Wakes: follow.Wakes{wake}, Guard: guard,
			Report: outages.Call(name).Report,
			Pause:  func(time.Duration) time.Duration { return retry },
			Do:     func(ctx context.Context, _ bool) error { return do(ctx) },
		}
	}
	// Cells are read again at once when a region has moved: its callers wait for that.
	readCells := loop("cells", 2*time.Second, 2*time.Second, o.Store.ReadCells, cells)
	readCells.Pause = func(time.Duration) time.Duration { return 20 * time.Millisecond }
	return []follow.Loop{
		loop("keys", o.Keys.RefreshInterval(), 500*time.Millisecond, o.Keys.Refresh, o.Keys.RefreshRequests()),
		loop("pulse", pulse, pulse, o.Store.Pulse, nil),
		loop("clock", 10*time.Second, 250*time.Millisecond, o.Store.ReadClock, nil),
		readCells,
		loop("report", reportEvery, time.Second, s.reportState, nil),
		loop("refusals", time.Second, time.Second, s.refusalBook.Flush, nil),
		loop("requests", countEvery, time.Second, s.countRequests, nil),
		loop("snapshot", telemetry.SampleEvery, telemetry.SampleEvery,
			func(ctx context.Context) error { return o.Metrics.SampleSnapshot(ctx, o.Store) }, nil),
	}
}

const (
	warmUpTimeout = 2 * time.Second
	warmUpPause   = 250 * time.Millisecond
	warmUpTries   = 3 // with a database that answers
)

// warmUp prepares connections before /readyz says that this replica is ready. It waits for a database that is away,
// without which no replica is ready. One that answers and is too slow, or refuses, costs the first calls time and keeps
// no replica out for long.
func (s *Server) warmUp(ctx context.Context) {
	defer s.isWarm.Store(true)
	for tries := 0; tries < warmUpTries && ctx.Err() == nil; {
		err := s.warmUpOnce(ctx)
		if err == nil {
			return
		}
		if s.options.Store.Ping(ctx) == nil {
			tries++
			s.options.Log.LogAttrs(ctx, slog.LevelWarn,
				"connections could not be prepared: the first calls take longer", slog.Any("error", err))
		}
		wait.For(ctx, warmUpPause)
	}
}

func (s *Server) warmUpOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, warmUpTimeout)
	defer cancel()
	if err := s.options.Store.ReadCells(ctx); err != nil {
		return err
	}
	return s.options.Store.WarmUp(ctx)
}
