package agents

import (
	"context"
	"errors"
	"slices"
)

// ErrDisconnected is returned by Drain and Undrain if the connection ends before a poll confirms the status.
var ErrDisconnected = errors.New("disconnected from the orchestrator")

// echo waits for a poll that confirms status.
type echo struct {
	status string
	done   chan error // has room for the one answer
}

func (a *Agent) setStatus(ctx context.Context, status string) error {
	e := echo{status, make(chan error, 1)}
	a.mu.Lock()
	a.echoes = append(a.echoes, e)
	a.mu.Unlock()
	a.game.setStatus(status)
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		a.answerEchoes(nil, func(other echo) bool { return other == e })
		return ctx.Err()
	}
}

// answerEchoes ends the waits that concerns selects.
func (a *Agent) answerEchoes(err error, concerns func(echo) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.echoes = slices.DeleteFunc(a.echoes, func(e echo) bool {
		if !concerns(e) {
			return false
		}
		e.done <- err
		return true
	})
}
