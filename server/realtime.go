package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/lattice-director/director/server/projects"
	"github.com/lattice-director/director/server/realtime"
)

// Projects configures the control API of the realtime lobby. Fields that are zero have the value of the replica.
type Projects struct {
	projects.Options

	Addr     string // "" means 127.0.0.1:3000. Listener, if set, is used instead.
	Listener net.Listener
}

// mountRealtime makes the realtime lobby and its control API, if the options have them, with the settings that all faces share.
func (s *Server) mountRealtime(config *tls.Config) (err error) {
	o := s.options
	if o.Realtime != nil {
		if s.realtime, err = realtime.New(o.Store, s.lobbyOptions(config)); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	if o.Projects == nil {
		return nil
	}
	handler, err := projects.New(o.controlOptions())
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.control = s.httpServer(handler, config)
	return nil
}

// lobbyOptions returns the options of the realtime lobby, those that it lacks from the replica.
func (s *Server) lobbyOptions(config *tls.Config) realtime.Options {
	o, lobby := s.options, *s.options.Realtime
	lobby.TLS, lobby.FailureRate = cmp.Or(lobby.TLS, config.Clone()), cmp.Or(lobby.FailureRate, o.FailureRate)
	lobby.Universe, lobby.Signer = cmp.Or(lobby.Universe, o.universe()), cmp.Or[realtime.Signer](lobby.Signer, o.Keys)
	lobby.Log, lobby.Metrics = cmp.Or(lobby.Log, o.Log), cmp.Or(lobby.Metrics, o.Metrics.Registerer())
	if lobby.TrustedProxies == nil {
		lobby.TrustedProxies = o.TrustedProxies
	}
	if lobby.Refused == nil {
		lobby.Refused = s.refusals.Record
	}
	return lobby
}

// controlOptions returns the options of the control API, those that it lacks from the replica.
func (o Options) controlOptions() projects.Options {
	control := o.Projects.Options
	control.Store, control.FailureRate, control.CallTimeout = cmp.Or(control.Store, o.Store), cmp.Or(control.FailureRate, o.FailureRate), cmp.Or(control.CallTimeout, o.CallTimeout)
	control.Log, control.Metrics, control.Tracer = cmp.Or(control.Log, o.Log), cmp.Or(control.Metrics, o.Metrics.HTTP), cmp.Or(control.Tracer, o.Tracer)
	if control.TrustedProxies == nil {
		control.TrustedProxies = o.TrustedProxies
	}
	return control
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
