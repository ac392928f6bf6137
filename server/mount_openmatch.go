package server

import (
	"cmp"
	"crypto/tls"
	"fmt"

	"github.com/lattice-director/director/server/openmatch"
)

// mountOpenMatch mounts Open Match, if the options have it, with the settings that all faces share.
func (s *Server) mountOpenMatch(config *tls.Config) (err error) {
	o := s.options
	if o.OpenMatch == nil {
		return nil
	}
	om := *o.OpenMatch
	om.Store = cmp.Or[openmatch.Store](om.Store, o.Store)
	// The watchers of both faces share a hub, since they wait for the same tickets.
	om.Hub = cmp.Or(om.Hub, s.ticketHub)
	om.Universe = cmp.Or(om.Universe, o.universeName())
	om.PlayerArg = cmp.Or(om.PlayerArg, o.PlayerArg)
	om.MaxWatchers = cmp.Or(om.MaxWatchers, o.MaxWaiters)
	om.HTTPAddr = cmp.Or(om.HTTPAddr, o.apiAddr())
	om.TLS = cmp.Or(om.TLS, config)
	om.FailureRate = cmp.Or(om.FailureRate, o.FailureRate)
	om.CheckHere = o.Store.CheckHere
	om.Log = cmp.Or(om.Log, o.Log)
	om.Metrics = cmp.Or(om.Metrics, o.Metrics.Registerer())
	om.Tracer = cmp.Or(om.Tracer, o.Tracer)
	if s.openMatch, err = openmatch.New(om); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.openMatch.Mount(s.apiEngine)
	return nil
}
