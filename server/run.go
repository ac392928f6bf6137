package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// httpServer bounds what a connection may cost while nobody knows yet whose it is.
func (s *Server) httpServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    32 << 10,                                                    // an access token has up to 8 KiB
		ErrorLog:          slog.NewLogLogger(s.options.Log.Handler(), slog.LevelDebug), // mostly strangers who speak no TLS
	}
}

// Listen opens the listeners that were not given. Run does so itself; call it to know the addresses before.
func (s *Server) Listen(ctx context.Context) (err error) {
	if s.listener == nil {
		s.listener, err = listen(ctx, s.options.Listener, s.options.Addr)
	}
	if err == nil && s.tickets != nil {
		err = s.tickets.Listen(ctx)
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

// Addr is where the API listens, after Listen.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// MetricsAddr is where the metrics listen, after Listen; nil when they do not.
func (s *Server) MetricsAddr() net.Addr {
	if s.metricsListener == nil {
		return nil
	}
	return s.metricsListener.Addr()
}

// GRPCAddrs are where gRPC listens, after Listen; none where it does not.
func (s *Server) GRPCAddrs() []net.Addr {
	if s.tickets == nil {
		return nil
	}
	return s.tickets.Addrs()
}

// Run serves until ctx ends or a listener fails. Then it says that it is not ready, goes on for the drain delay,
// finishes the calls that are under way, and returns. The database need not be up. Errors: a listener's; calls that
// did not finish in time, which were cut off.
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
	failed := make(chan error, 3) // one for each that serves
	running.Go(func() { failed <- s.serve() })
	if s.tickets != nil {
		running.Go(func() { s.tickets.Run(background) })
		running.Go(func() { failed <- s.tickets.Serve() })
	}
	if s.metricsListener != nil {
		running.Go(func() { failed <- s.metrics.Serve(s.metricsListener) })
	}
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "listening",
		slog.String("addr", text(s.Addr())), slog.String("grpc_addr", text(s.GRPCAddrs()...)),
		slog.String("metrics_addr", text(s.MetricsAddr())), slog.Bool("tls", s.options.secure()))

	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.linger(background)
	}
	err = errors.Join(err, s.finish(background))
	stop()
	running.Wait()
	return err
}

func (s *Server) serve() error {
	if s.options.secure() {
		return s.api.ServeTLS(s.listener, "", "")
	}
	return s.api.Serve(s.listener)
}

// linger serves on while the balancer learns that it should send nothing more.
func (s *Server) linger(ctx context.Context) {
	s.draining.Store(true)
	if s.tickets != nil {
		s.tickets.Drain()
	}
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "draining", slog.Duration("delay", s.options.DrainDelay))
	delay := time.NewTimer(s.options.DrainDelay)
	defer delay.Stop()
	<-delay.C
}

// finish lets calls under way end, and the groups they are in; metrics can be read until then.
func (s *Server) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.ShutdownTimeout)
	defer cancel()
	if s.tickets != nil {
		s.tickets.End() // its streams over HTTP as well, which Shutdown waits for
	}
	err := s.api.Shutdown(ctx)
	if s.tickets != nil {
		err = errors.Join(err, s.tickets.Stop(ctx))
	}
	if err == nil {
		err = s.options.Store.Drain(ctx)
	}
	if err != nil {
		err = fmt.Errorf("calls did not end within %s and were cut off: %w", s.options.ShutdownTimeout, err)
	}
	s.options.Log.LogAttrs(ctx, slog.LevelInfo, "stopped", slog.Bool("clean", err == nil))
	return errors.Join(err, s.api.Close(), s.metrics.Close())
}

// text is addresses as people write them: in JSON, slog takes them for the structs they are.
func text(addrs ...net.Addr) string {
	var words []string
	for _, addr := range addrs {
		if addr != nil {
			words = append(words, addr.String())
		}
	}
	return strings.Join(words, ",")
}
