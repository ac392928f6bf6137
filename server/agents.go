package server

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/rivalis/command"
	"github.com/lattice-director/director/internal/rivalis/roomhost"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/server/orchestrator"
)

// agents serves Rivalis game servers on this replica.
type agents struct {
	connections *orchestrator.Server

	roster *roster.Roster  // this replica's copy of the fleet
	events *roster.Events  // of the fleet
	caller *command.Caller // of commands that calls of the API wait for
	hosts  *roomhost.Host  // of sessions that are rooms
	api    *orchestrator.REST

	endStreams context.CancelFunc // ends the streams of events
}

// Replica returns the id of this replica in the database; uuid.Nil before it has one.
func (a *agents) Replica() uuid.UUID {
	if a.connections == nil {
		return uuid.Nil
	}
	return a.connections.Replica()
}

// awaitRoster waits until this replica's lists show a transaction.
func (a *agents) awaitRoster(ctx context.Context, tx uint64) {
	_ = a.roster.WaitFor(ctx, tx) // its only error is ctx's: lists then follow later
}

func (a *agents) followEvents(ctx context.Context, lastEventID string) (orchestrator.Follower, error) {
	stream, err := a.events.OpenStream(ctx, lastEventID)
	if err != nil {
		return nil, err // a nil *Stream would be a Follower that is not nil
	}
	return stream, nil
}

// runAll runs everything but the listener until ctx ends.
func (a *agents) runAll(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { a.connections.Run(ctx) })
	running.Go(func() { a.hosts.Run(ctx) })
	for _, run := range []func(context.Context) error{a.roster.Run, a.events.Run, a.caller.Run} {
		running.Go(func() { _ = run(ctx) }) // the only error is a second Run
	}
}

// stopAll stops the orchestrator.
func (a *agents) stopAll(ctx context.Context) error {
	a.endStreams() // Stop waits for the calls of the streams
	return a.connections.Stop(ctx)
}
