package fleet

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// listing is a request of a game server.
type listing struct {
	ref          db.InstanceRef
	cursor       string // of the caller's last answer; "": none
	afterSession string // the last session of the previous page; "": none
	wait         time.Duration
}

// maxCursor bounds a caller's cursor, in bytes; ours are shorter.
const maxCursor = 128

func listingOf(in rest.In[rest.None]) (listing, error) {
	var c rest.Check
	l := listing{ref: db.InstanceRef{InstanceID: in.Query("instance_id")}, cursor: in.Query("cursor"),
		afterSession: in.Query("after"), wait: c.Wait(in.Query("wait"))}
	c.Match("instance_id", l.ref.InstanceID, rest.ID)
	if text := in.Query("incarnation"); text != "" {
		id, err := uuid.Parse(text)
		c.That(err == nil && len(text) == 36, "incarnation", "must be a UUID")
		l.ref.Incarnation = &id
	}
	c.Len("cursor", l.cursor, 0, maxCursor)
	if l.afterSession != "" {
		c.Match("after", l.afterSession, rest.ID)
	}
	return l, c.Err()
}

// sessions answers at once unless the caller knows the current state of its sessions, and otherwise when they change or
// the time to wait is over.
func (f sessionFace) sessions(ctx context.Context, in rest.In[rest.None]) (rosters, error) {
	l, err := listingOf(in)
	if err != nil {
		return rosters{}, err
	}
	if err := (caller{l.ref.InstanceID, l.ref.Incarnation}).speaksFor(ctx); err != nil {
		return rosters{}, err
	}
	state, err := f.state(ctx, l.ref)
	// A caller that does not know the current state is answered at once, and takes no place among those that wait.
	if err == nil && l.wait > 0 && state.Digest == l.cursor {
		state, err = f.next(ctx, l, state)
	}
	if err != nil {
		return rosters{}, err
	}
	return f.page(ctx, l.ref.InstanceID, state, l.afterSession)
}

func (f sessionFace) state(ctx context.Context, ref db.InstanceRef) (db.RosterState, error) {
	ctx, cancel := context.WithTimeout(ctx, f.engine.CallTimeout)
	defer cancel()
	return f.engine.Store.RosterState(ctx, ref)
}

// next returns the first state that differs from the known one, or the known one when the call must end. An unreachable
// database counts as no change.
func (f sessionFace) next(ctx context.Context, l listing, known db.RosterState) (db.RosterState, error) {
	w, err := f.waiters.join(l.ref.InstanceID, time.Now())
	if err != nil {
		return known, err
	}
	defer f.waiters.leave(w)
	wake, stop := f.engine.Store.SubscribeSessions(known)
	defer stop()
	over, poll := time.NewTimer(l.wait), time.NewTicker(f.engine.poll)
	defer over.Stop()
	defer poll.Stop()
	for {
		// also before the first wait: a change before the subscription fired no wake-up
		state, err := f.state(ctx, l.ref)
		switch {
		case ctx.Err() != nil:
			return known, ctx.Err()
		// It waits on: there is nothing else to tell it.
		case fault.Is(err, fault.Unavailable):
		case err != nil || state.Digest != l.cursor:
			return state, err
		}
		select {
		case <-wake:
		case <-poll.C:
		case <-over.C:
			return known, nil
		// With what it knows, and not with an error: its caller asks again if it is still there.
		case <-w.displaced:
			return known, nil
		case <-f.engine.Stopping:
			return known, nil
		case <-ctx.Done():
			return known, ctx.Err()
		}
	}
}
