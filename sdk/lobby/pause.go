package lobby

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/coder/websocket"
)

// pauseFor waits for d. It returns false if ctx ended first.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// pauses says how long to wait before the next attempt.
type pauses struct {
	backOff        *backoff.ExponentialBackOff
	quickTakeovers int // connections in a row that another client took over before they were steady
}

func newPauses(o Options) *pauses {
	return &pauses{backOff: &backoff.ExponentialBackOff{
		InitialInterval: o.FirstBackoff, MaxInterval: o.MaxBackoff, Multiplier: 2, RandomizationFactor: 0.5,
	}}
}

// noteEnd judges how long a connection has lasted and why it ended. Errors: [ErrSuperseded], once another client took
// over maxTakeovers connections in a row.
func (p *pauses) noteEnd(conn *connection, err error) error {
	isSteady := time.Since(conn.openedAt) >= steadyFor
	if isSteady {
		p.backOff.Reset()
	}
	if isSteady || websocket.CloseStatus(err) != closeSuperseded {
		p.quickTakeovers = 0
		return nil
	}
	p.quickTakeovers++
	if p.quickTakeovers >= maxTakeovers {
		return ErrSuperseded
	}
	return nil
}

const (
	closeSuperseded = websocket.StatusCode(4409)
	// steadyFor is the life of a connection after which the next failure counts as the first.
	steadyFor = 10 * time.Second
	// maxTakeovers is how many connections in a row may be taken over soon: a replica that was frozen closes
	// connections with the same code.
	maxTakeovers = 3
)
