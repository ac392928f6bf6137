package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/testkit/agents"
)

const roomType = "match"

// fleet is the simulated game servers of a run.
type fleet struct {
	cancel  context.CancelFunc
	running errgroup.Group // its error is the first end of a game server that stop has not caused
	servers []*agents.Agent
	changes atomic.Uint32 // how often change was called
}

// startFleet starts the game servers, each with its own rooms.
func startFleet(job *bench.Job) *fleet {
	ctx, cancel := context.WithCancel(context.Background()) // until stop, which also reports what ended before
	f := &fleet{cancel: cancel}
	for n := range job.Options.Load.Agents {
		a := agents.New(configOf(job, n))
		f.servers = append(f.servers, a)
		for room := range job.Options.Load.Rooms {
			_ = a.OpenRoom(roomID(n, room), roomType) // ids are distinct, and the type is known
		}
		f.running.Go(func() error {
			if err := a.Run(ctx); ctx.Err() == nil { // else stop has cut the connection
				return errors.Join(errors.New("a simulated game server ended"), err)
			}
			return nil
		})
	}
	return f
}

// roomID is the id of a room that a game server has made itself.
func roomID(server, room int) string { return fmt.Sprint("bench-", server, "-", room) }

// change makes the next state of each game server another one than the last: a player more or less is in its first
// room.
func (f *fleet) change() {
	players := f.changes.Add(1) % 100
	for n, a := range f.servers {
		a.SetConnections(roomID(n, 0), players)
	}
}

// stop cuts all connections. It returns why a game server ended by itself; nil if none did.
func (f *fleet) stop() error {
	f.cancel()
	return f.running.Wait()
}

// configOf is the game server of a number.
func configOf(job *bench.Job, n int) agents.Config {
	return agents.Config{
		URL: "ws" + strings.TrimPrefix(job.Options.URLs[n%len(job.Options.URLs)], "http"), Key: job.Options.AgentKey,
		Name:        fmt.Sprint("bench-", n),
		EndpointURL: fmt.Sprintf("wss://bench-%d.example.com", n), RoomTypes: []string{roomType},
		Labels: map[string]string{"region": "bench"},
	}
}
