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
	instanceRef  db.InstanceRef
	knownCursor  string // of the caller's last answer; "": none
	afterSession string // the last session of the previous page; "": none
	waitFor      time.Duration
}

// maxCursor bounds a caller's cursor, in bytes; ours are shorter.
const maxCursor = 128

func listingOf(in rest.In[rest.None]) (listing, error) {
	var c rest.Check
	l := listing{instanceRef: db.InstanceRef{InstanceID: in.Query("instance_id")}, knownCursor: in.Query("cursor"),
		afterSession: in.Query("after"), waitFor: c.Wait(in.Query("wait"))}
	c.Match("instance_id", l.instanceRef.InstanceID, rest.ID)
	if text := in.Query("incarnation"); text != "" {
		id, err := uuid.Parse(text)
		c.That(err == nil && len(text) == 36, "incarnation", "must be a UUID")
		l.instanceRef.Incarnation = &id
	}
	// Only the length is checked: a cursor of another release, or a made up one, differs from the state, and is answered
	// at once.
	c.Len("cursor", l.knownCursor, 0, maxCursor)
	if l.afterSession != "" {
		c.Match("after", l.afterSession, rest.ID)
	}
	return l, c.Err()
}

// listSessions answers at once unless the caller knows the current state of its sessions, and otherwise when they
// change or the time to wait is over.
func (f sessionFace) listSessions(ctx context.Context, in rest.In[rest.None]) (rosters, error) {
	l, err := listingOf(in)
	if err != nil {
		return rosters{}, err
	}
	if err := (caller{l.instanceRef.InstanceID, l.instanceRef.Incarnation}).checkCredential(ctx); err != nil {
		return rosters{}, err
	}
	state, err := f.readState(ctx, l.instanceRef)
	if err != nil {
		return rosters{}, err
	}
	// A caller that does not know the current state is answered at once, and takes no place among those that wait.
	if l.waitFor > 0 && state.Digest == l.knownCursor {
		if state, err = f.awaitChange(ctx, l, state); err != nil {
			return rosters{}, err
		}
	}
	return f.readPage(ctx, l.instanceRef.InstanceID, state, l.afterSession)
}

func (f sessionFace) readState(ctx context.Context, ref db.InstanceRef) (db.RosterState, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.CallTimeout)
	defer cancel()
	return f.options.Store.ReadRosterState(ctx, ref)
}

// awaitChange returns the first state that differs from the known one, or the known one when the call must end. An
// unreachable database counts as no change.
func (f sessionFace) awaitChange(ctx context.Context, l listing, known db.RosterState) (db.RosterState, error) {
	w, err := f.waiters.joinWaiter(l.instanceRef.InstanceID, time.Now())
	if err != nil {
		return known, err
	}
	defer f.waiters.leaveWaiter(w)
	wake, stop := f.options.Store.SubscribeSessions(known)
	defer stop()
	over, poll := time.NewTimer(l.waitFor), time.NewTicker(f.options.pollEvery)
	defer over.Stop()
	defer poll.Stop()
	for {
		// The state is read also before the first wait: a change before the subscription has sent no wake-up.
		state, err := f.readState(ctx, l.instanceRef)
		if ctx.Err() != nil {
			return known, ctx.Err()
		}
		// During an outage the call keeps waiting: after an error all game servers would call again at once, while the
		// database starts.
		isOutage := fault.Is(err, fault.Unavailable)
		if !isOutage && (err != nil || state.Digest != l.knownCursor) {
			return state, err
		}
		select {
		case <-wake:
		case <-poll.C: // a notification can be lost
		case <-over.C:
			return known, nil
		// A newer call of the instance has displaced this one. It is no error, after which the caller would call at once.
		case <-w.displaced:
			return known, nil
		case <-f.options.Stopping:
			return known, nil
		case <-ctx.Done():
			return known, ctx.Err()
		}
	}
}
