package agents

import (
	"context"
	"errors"
	"slices"

	"github.com/lattice-director/director/internal/testkit/agents/wire"
)

// ErrDisconnected is returned by Drain and Undrain if the connection ends before a poll confirms the status.
var ErrDisconnected = errors.New("disconnected from the orchestrator")

// Drain marks the game server as draining, and waits until a poll says that the orchestrator has recorded it. Errors:
// that of ctx; ErrDisconnected if the connection ends before; the game server stays marked in both cases.
func (a *Agent) Drain(ctx context.Context) error { return a.setStatus(ctx, wire.Draining) }

// Undrain is the reverse of Drain.
func (a *Agent) Undrain(ctx context.Context) error { return a.setStatus(ctx, wire.Active) }

func (a *Agent) setStatus(ctx context.Context, status string) error {
	e := echo{status, make(chan error, 1)}
	// Before the status changes: the poll that confirms it may come at once.
	a.mu.Lock()
	a.echoes = append(a.echoes, e)
	a.mu.Unlock()
	a.game.setStatus(status)
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		// Taken off the list: nobody reads the answer any more.
		a.answerEchoes(nil, func(other echo) bool { return other == e })
		return ctx.Err()
	}
}

// answerEchoes ends the waits that concerns selects.
func (a *Agent) answerEchoes(err error, concerns func(echo) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.echoes {
		if concerns(e) {
			e.done <- err // it has room, so that this does not block
		}
	}
	a.echoes = slices.DeleteFunc(a.echoes, concerns)
}
