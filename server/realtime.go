package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/lattice-director/director/server/projects"
	"github.com/lattice-director/director/server/realtime"
)

// Projects configures the control API of the realtime lobby. New replaces Store, FailureRate, TrustedProxies, CallTimeout, Log, Metrics and Tracer of its
// options with those of the replica.
type Projects struct {
	projects.Options

	Addr     string // "" means 127.0.0.1:3000. Listener, if set, is used instead.
	Listener net.Listener
}

// mountRealtime makes the realtime lobby and its control API, if the options have them, with the settings that all faces share.
func (s *Server) mountRealtime(config *tls.Config) (err error) {
	o := s.options
	if o.Realtime != nil {
		lobby := *o.Realtime
		lobby.TLS, lobby.TrustedProxies, lobby.FailureRate, lobby.Log = config.Clone(), o.TrustedProxies, o.FailureRate, o.Log
		lobby.Universe, lobby.Signer, lobby.Refused = o.universe(), o.Keys, s.refusals.Record
		if s.realtime, err = realtime.New(o.Store, lobby); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	if o.Projects == nil {
		return nil
	}
	control := o.Projects.Options
	control.Store, control.FailureRate, control.TrustedProxies, control.CallTimeout = o.Store, o.FailureRate, o.TrustedProxies, o.CallTimeout
	control.Log, control.Metrics, control.Tracer = o.Log, o.Metrics.HTTP, o.Tracer
	handler, err := projects.New(control)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.control = s.httpServer(handler, config)
	return nil
}

func (s *Server) listenRealtime(ctx context.Context) (err error) {
	if s.realtime != nil {
		err = s.realtime.Listen(ctx)
	}
	if err == nil && s.control != nil && s.controlListener == nil {
		addr := s.options.Projects.Addr
		if addr == "" {
			addr = "127.0.0.1:3000"
		}
		s.controlListener, err = listen(ctx, s.options.Projects.Listener, addr)
	}
	return err
}

// stopRealtime closes the connections of the realtime lobby, and waits for calls of its control API. The channel gets the error.
func (s *Server) stopRealtime(ctx context.Context) <-chan error {
	stopped := make(chan error, 2)
	if s.realtime == nil {
		stopped <- nil
	} else {
		go func() { stopped <- s.realtime.Stop(ctx) }()
	}
	if s.control == nil {
		stopped <- nil
	} else {
		go func() { stopped <- s.control.Shutdown(ctx) }()
	}
	return stopped
}

// RealtimeAddr returns the address of the realtime lobby, after Listen; nil when it is not served.
func (s *Server) RealtimeAddr() net.Addr {
	if s.realtime == nil {
		return nil
	}
	return s.realtime.Addr()
}

// RealtimeControlAddr returns the address of the control API of the realtime lobby, after Listen; nil when it is not served.
func (s *Server) RealtimeControlAddr() net.Addr {
	if s.controlListener == nil {
		return nil
	}
	return s.controlListener.Addr()
}
