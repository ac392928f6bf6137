package server

import (
	"cmp"
	"crypto/tls"
	"fmt"

	"github.com/lattice-director/director/server/projects"
	"github.com/lattice-director/director/server/realtime"
)

// mountRealtime makes the realtime lobby and its control API, if the options have them, with the settings that all
// faces share.
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
	s.control = s.httpServer(handler, config, cmp.Or(o.Projects.Addr, "127.0.0.1:3000"), o.Projects.Listener)
	return nil
}

// lobbyOptions returns the options of the realtime lobby. What they do not set is as in the options of the replica.
func (s *Server) lobbyOptions(config *tls.Config) realtime.Options {
	o, lobby := s.options, *s.options.Realtime
	lobby.TLS = cmp.Or(lobby.TLS, config.Clone())
	lobby.FailureRate = cmp.Or(lobby.FailureRate, o.FailureRate)
	lobby.Universe = cmp.Or(lobby.Universe, o.universeName())
	lobby.Signer = cmp.Or[realtime.Signer](lobby.Signer, o.Keys)
	lobby.Log = cmp.Or(lobby.Log, o.Log)
	lobby.Metrics = cmp.Or(lobby.Metrics, o.Metrics.Registerer())
	// An empty list is not replaced: it trusts nobody, whatever the other faces do.
	if lobby.TrustedProxies == nil {
		lobby.TrustedProxies = o.TrustedProxies
	}
	if lobby.OnRefusal == nil {
		lobby.OnRefusal = s.refusalBook.Record
	}
	return lobby
}

// controlOptions returns the options of the control API. What they do not set is as in the options of the replica.
func (o Options) controlOptions() projects.Options {
	control := o.Projects.Options
	control.Store = cmp.Or(control.Store, o.Store)
	control.FailureRate = cmp.Or(control.FailureRate, o.FailureRate)
	control.CallTimeout = cmp.Or(control.CallTimeout, o.CallTimeout)
	control.Log = cmp.Or(control.Log, o.Log)
	control.Metrics = cmp.Or(control.Metrics, o.Metrics.HTTP)
	control.Tracer = cmp.Or(control.Tracer, o.Tracer)
	if control.TrustedProxies == nil {
		control.TrustedProxies = o.TrustedProxies
	}
	return control
}
