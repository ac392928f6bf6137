package agents

import (
	"context"
	"errors"
	"slices"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
)

// ErrDisconnected is returned by Drain and Undrain if the connection ends before a poll confirms the status.
var ErrDisconnected = errors.New("disconnected from the orchestrator")

// Drain marks the game server as draining, and waits until a poll says that the orchestrator has recorded that. It
// returns ctx's error, or ErrDisconnected if the connection ends before the poll: the game server stays marked in both
// cases.
func (a *Agent) Drain(ctx context.Context) error { return a.setStatus(ctx, wire.Draining) }

// Undrain is the reverse of Drain.
func (a *Agent) Undrain(ctx context.Context) error { return a.setStatus(ctx, wire.Active) }

func (a *Agent) setStatus(ctx context.Context, status string) error {
	wait := statusWait{status, make(chan error, 1)}
	// Before the status changes: the poll that confirms it may come at once.
	a.mu.Lock()
	a.statusWaits = append(a.statusWaits, wait)
	a.mu.Unlock()
	a.game.setStatus(status)
	select {
	case err := <-wait.done:
		return err
	case <-ctx.Done():
		// Only to take it off the list: nobody reads the result any more.
		a.endWaits(nil, func(other statusWait) bool { return other == wait })
		return ctx.Err()
	}
}

// endWaits ends the waits that isEnded selects, with an error or nil.
func (a *Agent) endWaits(err error, isEnded func(statusWait) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, wait := range a.statusWaits {
		if isEnded(wait) {
			wait.done <- err // does not block: it has room
		}
	}
	a.statusWaits = slices.DeleteFunc(a.statusWaits, isEnded)
}
