package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/rivalis/command"
	"github.com/lattice-director/director/internal/rivalis/roomhost"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/server/orchestrator"
)

// Orchestrator configures the orchestrator of Rivalis game servers. Its Handler is the API; fields that are zero have the value of the replica.
type Orchestrator struct {
	orchestrator.Options

	AdminKeys      []string      // of callers of the API, of at least 16 bytes each; required unless NoAPI is set
	CommandTimeout time.Duration // for an agent to acknowledge a command, on which all replicas must agree; 0 means 10 s
	CORSOrigins    []string      // whose pages may call the API
	SSEQueryAuth   bool          // accept ?key= on the stream of events
	NoAPI          bool          // serve agents and probes only
	MaxStreams     int           // streams of events at a time; 0 means 100
}

// OrchestratorDefaults returns what operators may change, with its defaults.
func OrchestratorDefaults() Orchestrator {
	return Orchestrator{Options: orchestrator.Defaults(), CommandTimeout: 10 * time.Second}
}

func (o Orchestrator) withDefaults() Orchestrator {
	d := OrchestratorDefaults()
	o.Region = cmp.Or(o.Region, d.Region)
	o.CommandTimeout = cmp.Or(o.CommandTimeout, d.CommandTimeout)
	o.MaxStreams = cmp.Or(o.MaxStreams, 100)
	return o
}

// agents is what serves Rivalis game servers on this replica: their connections, its copy of the fleet with the events, the calls that wait
// for commands, and the sessions that are rooms.
type agents struct {
	*orchestrator.Server

	roster *roster.Roster
	events *roster.Events
	caller *command.Caller
	hosts  *roomhost.Host
	api    *orchestrator.REST

	endStreams context.CancelFunc
}

// mountOrchestrator makes the orchestrator, if the options have it, with the settings that all faces share.
func (s *Server) mountOrchestrator(config *tls.Config) (err error) {
	if s.options.Orchestrator == nil {
		return nil
	}
	o := s.options.Orchestrator.withDefaults()
	o.Metrics = cmp.Or(o.Metrics, s.options.Metrics.Registerer())
	if o.TrustedProxies == nil {
		o.TrustedProxies = s.options.TrustedProxies
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
	copied := roster.Config{Log: log, Guard: guard, Metrics: o.Metrics}
	if a.roster, err = roster.New(store, o.Region, copied); err != nil {
		return nil, err
	}
	if a.events, err = roster.NewEvents(store, a.roster, o.MaxStreams, copied); err != nil {
		return nil, err
	}
	a.caller = command.New(store, o.Region, command.Options{
		Replica: a.Replica, Timeout: o.CommandTimeout, WaitFor: a.waitForRoster, NearestAgents: a.roster.Near, Log: log, Guard: guard,
	})
	a.hosts = roomhost.New(roomhost.Options{
		Store: store, Region: o.Region, Replica: a.Replica, Log: log, Guard: guard,
		Destroy: func(ctx context.Context, room string) error {
			_, err := store.DestroyRoom(ctx, o.Region, room, a.Replica(), "director", o.CommandTimeout)
			return err
		},
	})
	var streams context.Context
	streams, a.endStreams = context.WithCancel(context.Background())
	if a.api, err = orchestrator.NewREST(s.restOfAgents(streams, o, a)); err != nil {
		return nil, err
	}
	a.Server, err = orchestrator.New(s.connectionsOfAgents(o, config, a.api))
	return a, err
}

// connectionsOfAgents returns the options of the listener. What it does not serve itself is answered by api.
func (s *Server) connectionsOfAgents(o Orchestrator, config *tls.Config, api http.Handler) orchestrator.Options {
	c := o.Options
	c.Store, c.Log, c.TLS = cmp.Or[orchestrator.Store](c.Store, s.options.Store), cmp.Or(c.Log, s.options.Log), cmp.Or(c.TLS, config.Clone())
	c.FailureRate, c.Handler = cmp.Or(c.FailureRate, s.options.FailureRate), api
	return c
}

func (s *Server) restOfAgents(streams context.Context, o Orchestrator, a *agents) orchestrator.RESTOptions {
	return orchestrator.RESTOptions{
		Region: o.Region, Roster: a.roster, Lookup: s.options.Store, Commander: a.caller, Follow: a.follow, Ready: s.ready,
		AdminKeys: o.AdminKeys, NoAPI: o.NoAPI, QueryKey: o.SSEQueryAuth, CORSOrigins: o.CORSOrigins, TrustedProxies: o.TrustedProxies,
		CommandTimeout: o.CommandTimeout, Stopping: streams, Log: s.options.Log, Metrics: s.options.Metrics.HTTP, Tracer: s.options.Tracer,
	}
}

// Replica returns the id of this replica in the database; uuid.Nil before it has one.
func (a *agents) Replica() uuid.UUID {
	if a.Server == nil {
		return uuid.Nil
	}
	return a.Server.Replica()
}

// waitForRoster waits until this replica's lists show a transaction.
func (a *agents) waitForRoster(ctx context.Context, tx uint64) {
	_ = a.roster.WaitFor(ctx, tx) // its only error is ctx's: lists then follow later
}

func (a *agents) follow(ctx context.Context, lastEventID string) (orchestrator.Follower, error) {
	stream, err := a.events.Stream(ctx, lastEventID)
	if err != nil {
		return nil, err // not a Follower that is a nil *Stream
	}
	return stream, nil
}

// run runs everything but the listener until ctx ends.
func (a *agents) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { a.Run(ctx) })
	running.Go(func() { a.hosts.Run(ctx) })
	for _, run := range []func(context.Context) error{a.roster.Run, a.events.Run, a.caller.Run} {
		running.Go(func() { _ = run(ctx) }) // the only error is a second Run
	}
}

// stop stops the orchestrator. The channel gets the error.
func (a *agents) stop(ctx context.Context) <-chan error {
	stopped := make(chan error, 1)
	if a == nil {
		stopped <- nil
		return stopped
	}
	a.endStreams() // Stop waits for the calls that it ends
	go func() { stopped <- a.Stop(ctx) }()
	return stopped
}

// OrchestratorAddr returns the address of the orchestrator, after Listen; nil when it is not served.
func (s *Server) OrchestratorAddr() net.Addr {
	if s.agents == nil {
		return nil
	}
	return s.agents.Addr()
}
