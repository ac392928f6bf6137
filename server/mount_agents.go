package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/rivalis/command"
	"github.com/lattice-director/director/internal/rivalis/roomhost"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/server/orchestrator"
)

// mountOrchestrator makes the orchestrator, if the options have it, with the settings that all faces share.
func (s *Server) mountOrchestrator(config *tls.Config) (err error) {
	if s.options.Orchestrator == nil {
		return nil
	}
	o := s.options.Orchestrator.withDefaults()
	o.Options.Metrics = cmp.Or(o.Options.Metrics, s.options.Metrics.Registerer())
	if o.Options.TrustedProxies == nil {
		o.Options.TrustedProxies = s.options.TrustedProxies
	}
	if s.agents, err = s.newAgents(o, config); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

func (s *Server) newAgents(o Orchestrator, config *tls.Config) (a *agents, err error) {
	store, log := s.options.Store, s.options.Log
	guard := panics.New(log, nil)
	a = &agents{}
	rosterConfig := roster.Config{Log: log, Guard: guard, Metrics: o.Options.Metrics}
	if a.roster, err = roster.New(store, o.Options.Region, rosterConfig); err != nil {
		return nil, err
	}
	if a.events, err = roster.NewEvents(store, a.roster, o.MaxStreams, rosterConfig); err != nil {
		return nil, err
	}
	// The functions below are called when the replica runs. Until its connections are made at the end, they see no
	// replica.
	a.caller = command.New(store, o.Options.Region, command.Options{
		Replica: a.Replica, Timeout: orchestrator.CommandTimeout, WaitFor: a.awaitRoster, NearestAgents: a.roster.NearestAgents,
		Log: log, Guard: guard,
	})
	a.hosts = roomhost.New(roomhost.Options{
		Store: store, Region: o.Options.Region, Replica: a.Replica, Log: log, Guard: guard,
		Destroy: func(ctx context.Context, room string) error {
			// Nobody waits for the ack: the next run of the host looks again.
			_, err := store.DestroyRoom(ctx, o.Options.Region, room, a.Replica(), "director",
				orchestrator.CommandTimeout)
			return err
		},
	})
	var streams context.Context
	streams, a.endStreams = context.WithCancel(context.Background())
	// The API is made first, because it answers requests on the listener of the connections that are no handshakes.
	if a.api, err = orchestrator.NewREST(s.agentAPIOptions(streams, o, a)); err != nil {
		return nil, err
	}
	a.connections, err = orchestrator.New(s.connectionOptions(o, config, a.api))
	return a, err
}

// connectionOptions returns the options of the listener. Requests that are no handshakes are answered by api.
func (s *Server) connectionOptions(o Orchestrator, config *tls.Config, api http.Handler) orchestrator.Options {
	c := o.Options
	c.Store = cmp.Or[orchestrator.Store](c.Store, s.options.Store)
	c.Log = cmp.Or(c.Log, s.options.Log)
	c.TLS = cmp.Or(c.TLS, config.Clone())
	c.CheckHere = s.options.Store.CheckHere
	c.FailureRate = cmp.Or(c.FailureRate, s.options.FailureRate)
	c.OtherHandler = api
	return c
}

func (s *Server) agentAPIOptions(streams context.Context, o Orchestrator, a *agents) orchestrator.RESTOptions {
	return orchestrator.RESTOptions{
		Region: o.Options.Region, CheckHere: s.options.Store.CheckHere, Roster: a.roster, Lookup: s.options.Store,
		Commander: a.caller, FollowEvents: a.followEvents,
		CheckReady: s.checkReady,
		AdminKeys:  o.AdminKeys, QueryKey: o.SSEQueryAuth, CORSOrigins: o.CORSOrigins,
		TrustedProxies: o.Options.TrustedProxies,
		Stopping:       streams, Log: s.options.Log, Metrics: s.options.Metrics.HTTP,
		Tracer: s.options.Tracer,
	}
}
