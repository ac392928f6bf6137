package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/server/rest"
)

// Run serves until ctx ends or a listener fails. When ctx ends, readiness fails while Run still serves for the drain
// delay. Then Run waits for the calls in flight and returns. The database need not be up. Errors: that of a listener;
// calls that did not finish within the shutdown timeout and were cut off.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Listen(ctx); err != nil {
		return err
	}
	// The end of ctx does not end these: keys, clock and pulse are needed until the last call is answered.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	for _, run := range s.backgroundRuns() {
		running.Go(func() { run(background) })
	}
	parts := s.listeningParts()
	// The channel has room for all of them: nobody reads a second error, and no goroutine may stay behind with it.
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
	// The loops have ended, which would store the same.
	s.recordRest(ctx)
	return err
}

// Ready returns nil if this replica should receive traffic, and else why not: it is what /readyz answers.
func (s *Server) Ready(ctx context.Context) error { return s.checkReady(ctx) }

// recordRest records the refusals and requests of the last seconds, and that this replica has ended.
func (s *Server) recordRest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loopTimeout)
	defer cancel()
	_ = s.refusalBook.Flush(ctx) // errors mean that the database does not answer, which the loops have logged
	_ = s.countRequests(ctx)
	_ = s.options.Store.EndProcessReport(ctx)
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
	close(s.stopping) // Shutdown waits for the calls that this ends.
	if s.openMatch != nil {
		s.openMatch.EndStreams() // also those over HTTP, for which Shutdown waits
	}
	// All parts stop at the same time, since each may need the whole timeout.
	err := joinAll(ctx, s.stopFuncs())
	if s.openMatch != nil {
		// Open Match stops after the HTTP servers, because calls of its REST mapping run over its gRPC connection.
		err = errors.Join(err, s.openMatch.Stop(ctx))
	}
	if err == nil {
		// If calls were cut off, they may still add to batches.
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

// stopFuncs returns what waits for calls in flight, and closes connections, when the replica stops. The metrics are
// served until then.
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
