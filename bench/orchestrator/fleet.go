package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/testkit/agents"
)

const roomType = "match"

// fleet is the simulated game servers of a run.
type fleet []*agents.Agent

// newFleet makes the game servers, each with its own rooms.
func newFleet(job *bench.Job) (f fleet) {
	urls := job.Options.URLs
	for n := range job.Options.Load.Agents {
		a := agents.New(agents.Config{
			URL: "ws" + strings.TrimPrefix(urls[n%len(urls)], "http"), Key: job.Options.AgentKey,
			Name:        fmt.Sprint("bench-", n),
			EndpointURL: fmt.Sprintf("wss://bench-%d.example.com", n), RoomTypes: []string{roomType},
			Labels: map[string]string{"region": "bench"},
		})
		for room := range job.Options.Load.Rooms {
			_ = a.OpenRoom(roomID(n, room), roomType) // ids are distinct, and the type is known
		}
		f = append(f, a)
	}
	return f
}

// roomID is the id of a room that a game server has made itself.
func roomID(server, room int) string { return fmt.Sprint("bench-", server, "-", room) }

// run connects the game servers until ctx ends. Its error is the first end of one before.
func (f fleet) run(ctx context.Context) error {
	var running errgroup.Group
	for _, a := range f {
		running.Go(func() error {
			if err := a.Run(ctx); ctx.Err() == nil {
				return errors.Join(errors.New("a simulated game server ended"), err)
			}
			return nil
		})
	}
	return running.Wait()
}
