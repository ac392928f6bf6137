package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/server/rest"
)

// httpServer makes a server of short calls. Those that wait set write deadlines of their own.
func (s *Server) httpServer(handler http.Handler, config *tls.Config) *rest.HTTPServer {
	return rest.NewHTTPServer(rest.HTTPOptions{Handler: handler, TLS: config.Clone(), WriteTimeout: 30 * time.Second, Log: s.options.Log})
}

// Listen opens the listeners that the options do not hold. Run calls it; call it before to learn the addresses.
func (s *Server) Listen(ctx context.Context) (err error) {
	if s.listener == nil {
		s.listener, err = listen(ctx, s.options.Listener, s.options.Addr)
	}
	if err == nil && s.openMatch != nil {
		err = s.openMatch.Listen(ctx)
	}
	if err == nil && s.agents != nil {
		err = s.agents.Listen(ctx)
	}
	if err == nil {
		err = s.listenRealtime(ctx)
	}
	if err == nil {
		err = s.listenConsole(ctx)
	}
	if err == nil && s.metricsListener == nil && (s.options.MetricsListener != nil || s.options.MetricsAddr != "") {
		s.metricsListener, err = listen(ctx, s.options.MetricsListener, s.options.MetricsAddr)
	}
	return err
}

func listen(ctx context.Context, given net.Listener, addr string) (net.Listener, error) {
	if given != nil {
		return given, nil
	}
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", addr)
}

// Addr returns the address of the API, after Listen.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// MetricsAddr returns the address of the metrics, after Listen; nil when they are not served.
func (s *Server) MetricsAddr() net.Addr {
	if s.metricsListener == nil {
		return nil
	}
	return s.metricsListener.Addr()
}

// GRPCAddrs returns the addresses of gRPC, after Listen; none when it is not served.
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
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	for _, l := range s.loops() {
		running.Go(func() { l.run(background) })
	}
	running.Go(func() { s.warmUp(background) })
	if s.hub != nil {
		running.Go(func() { _ = s.hub.Run(background) }) // its only error is a second Run
	}
	if s.bevygap != nil {
		running.Go(func() { s.bevygap.Run(background) })
	}
	failed := make(chan error, 7) // one for each server below
	running.Go(func() { failed <- s.api.Serve(s.listener) })
	if s.openMatch != nil {
		running.Go(func() { s.openMatch.Run(background) })
		running.Go(func() { failed <- s.openMatch.Serve() })
	}
	if s.agents != nil {
		running.Go(func() { s.agents.run(background) })
		running.Go(func() { failed <- s.agents.Serve() })
	}
	if s.realtime != nil {
		running.Go(func() { s.realtime.Run(background) })
		running.Go(func() { failed <- s.realtime.Serve() })
	}
	if s.control != nil {
		running.Go(func() { failed <- s.control.Serve(s.controlListener) })
	}
	if s.console != nil {
		running.Go(func() { failed <- s.console.http.Serve(s.console.listener) })
	}
	if s.metricsListener != nil {
		running.Go(func() { failed <- s.metrics.Serve(s.metricsListener) })
	}
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "listening",
		slog.String("addr", addrList(s.Addr())), slog.String("grpc_addr", addrList(s.GRPCAddrs()...)),
		slog.String("orchestrator_addr", addrList(s.OrchestratorAddr())), slog.String("realtime_addr", addrList(s.RealtimeAddr())),
		slog.String("realtime_control_addr", addrList(s.RealtimeControlAddr())), slog.String("console_addr", addrList(s.ConsoleAddr())),
		slog.String("metrics_addr", addrList(s.MetricsAddr())), slog.Bool("tls", s.options.usesTLS()))

	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.drain(background)
	}
	err = errors.Join(err, s.shutdown(background))
	stop()
	running.Wait()
	s.recordRest(ctx)
	return err
}

// recordRest records the refusals of the last second, and that this replica has ended.
func (s *Server) recordRest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loopTimeout)
	defer cancel()
	_ = s.refusals.Flush(ctx) // the database is away: the loop has logged it
	_ = s.options.Store.EndReport(ctx)
}

// drain makes readiness fail and waits, still serving, until load balancers have noticed.
func (s *Server) drain(ctx context.Context) {
	s.draining.Store(true)
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

// shutdown waits for the calls in flight and for the store's batches. The metrics are served until then.
func (s *Server) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.ShutdownTimeout)
	defer cancel()
	close(s.stopping) // Shutdown waits for the calls that it ends.
	if s.openMatch != nil {
		s.openMatch.End() // It also ends the streams over HTTP, which Shutdown waits for.
	}
	agents, bevygap, lobby, console := s.agents.stop(ctx), s.stopBevygap(ctx), s.stopRealtime(ctx), s.stopConsole(ctx)
	err := errors.Join(s.api.Shutdown(ctx), <-agents, <-bevygap, <-lobby, <-lobby, <-console)
	if s.openMatch != nil {
		err = errors.Join(err, s.openMatch.Stop(ctx))
	}
	if err == nil {
		err = s.options.Store.Drain(ctx)
	}
	if err != nil {
		err = fmt.Errorf("calls did not end within %s and were cut off: %w", s.options.ShutdownTimeout, err)
	}
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "stopped", slog.Bool("clean", err == nil))
	if s.control != nil {
		err = errors.Join(err, s.control.Close())
	}
	if s.console != nil {
		err = errors.Join(err, s.console.http.Close())
	}
	return errors.Join(err, s.api.Close(), s.metrics.Close())
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
