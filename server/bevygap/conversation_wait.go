package bevygap

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/waitingroom"
	"github.com/lattice-director/director/server/rest"
)

const (
	progressEvery = 5 * time.Second // between two reports that say the same
	changeEvery   = time.Second     // at least, between two reports that differ
)

// awaitSeat waits for a seat, and reports to the client. It returns neither a seat nor a failure if the client has
// left.
func (c *conversation) awaitSeat(ctx context.Context) (*db.Placement, *failure) {
	next := time.NewTimer(progressEvery)
	defer next.Stop()
	for {
		state := c.player.State()
		switch {
		case state.Err != nil:
			return nil, c.internalFailure(ctx, state.Err)
		case state.Seat != nil:
			c.acceptOnce(state.Seat.SessionID)
			return state.Seat, nil
		// The outlook counts once the request is stored: before that the pool was not asked.
		case state.Recorded && startsNone(ctx, state.Outlook):
			return nil, newFailure(http.StatusServiceUnavailable, "no servers of this version are started now")
		}
		if err := c.reportProgress(ctx, state); err != nil {
			return nil, nil
		}
		// Changes may come faster than reports are allowed: the timer sends what is left out now.
		next.Reset(c.untilReport(state))
		select {
		case <-c.player.Changed():
		case <-next.C:
		case <-ctx.Done():
			return nil, interruptionOf(ctx, func() *failure { return c.overdueFailure(c.player.State()) })
		}
	}
}

// startsNone reports whether the pool starts no server before ctx ends. A pause that ends earlier, such as that after a
// provider had no capacity for a moment, is no reason to end a request: bevygap's client never asks again.
func startsNone(ctx context.Context, o fault.Outlook) bool {
	if o.PausedUntil.IsZero() || o.Starting > 0 {
		return false
	}
	// An operator's pause has no end that anybody knows.
	deadline, limited := ctx.Deadline()
	return o.PausedByOperator || limited && o.PausedUntil.After(deadline)
}

// acceptOnce sends the client, once, the id under which its request is stored.
func (c *conversation) acceptOnce(id string) {
	if !c.isAccepted {
		c.isAccepted = true
		_ = c.outlet.sendFrame(encodeAccepted(id)) // if the client is gone, the next frame fails as well
	}
}

// reportProgress sends a report, if one is due, and before it that the request is stored. Errors: the client is gone.
func (c *conversation) reportProgress(ctx context.Context, state waitingroom.State) error {
	if state.Recorded {
		c.acceptOnce(rest.RequestID(ctx))
	}
	if c.untilReport(state) > 0 {
		return nil
	}
	c.lastReport, c.reportedAt = outlookText(state), time.Now()
	return c.outlet.sendFrame(encodeProgress(c.lastReport))
}

// untilReport returns how long the report of a state has to wait.
func (c *conversation) untilReport(state waitingroom.State) time.Duration {
	since := time.Since(c.reportedAt)
	switch {
	// The first report comes at once: it shows the player that the game is not stuck.
	case state.Recorded && c.lastReport == "":
		return 0
	case state.Recorded && c.lastReport != outlookText(state):
		return max(0, changeEvery-since)
	default:
		return max(0, progressEvery-since)
	}
}

// outlookText says what a request waits for.
func outlookText(state waitingroom.State) string {
	switch n := state.Outlook.Starting; {
	// This case is first, because what is known of servers may be old then.
	case state.Trouble != nil:
		return "waiting for the database"
	case n == 0 && !state.Outlook.PausedUntil.IsZero():
		return "no server can be started now: waiting for the next try"
	case n == 0:
		return "waiting for a server"
	case n == 1:
		return "a server is starting"
	default:
		return fmt.Sprintf("%d servers are starting", n)
	}
}

// overdueFailure says why nobody could host the player in time.
func (c *conversation) overdueFailure(state waitingroom.State) *failure {
	waited := durationText(c.face.options.WaitLimit)
	switch {
	// The request did not reach the pools, so they are not to blame.
	case state.Trouble != nil || !state.Recorded:
		return unavailableFailure()
	case state.Outlook.IsFull:
		return newFailure(http.StatusConflict,
			"all servers are full, and no more may be started: nobody could host you within %s", waited)
	default:
		return newFailure(http.StatusRequestTimeout, "no server could host you within %s", waited)
	}
}
