package play

import (
	"context"
	"strconv"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/server/rest"
)

// waitRequest is what a long poll asks for.
type waitRequest struct {
	waitFor      time.Duration // 0: answer at once
	knownVersion *int          // that the caller knows; nil: the one when the call begins
}

func waitRequestOf(in rest.In[rest.None]) (w waitRequest, err error) {
	var c rest.Check
	w.waitFor = c.Wait(in.Query("wait"))
	if text := in.Query("version"); text != "" {
		n, notNumber := strconv.Atoi(text)
		c.That(notNumber == nil && n >= 0, "version", "must be a whole number from 0")
		w.knownVersion = &n
	}
	return w, c.Err()
}

// showTicket answers at once, or when the ticket has another state than the caller knows, or when the time to wait is
// over.
func (f ticketFace) showTicket(ctx context.Context, in rest.In[rest.None]) (ticket, error) {
	id := in.Param("id")
	w, err := waitRequestOf(in)
	if err != nil {
		return ticket{}, err
	}
	if w.waitFor == 0 {
		t, err := f.readTicket(ctx, id)
		if err != nil {
			return ticket{}, err
		}
		return f.describeTicket(ctx, t), nil
	}
	return f.awaitTicket(ctx, id, w)
}

// awaitTicket answers when the ticket has another state than the caller knows, or at the end of its time to wait.
func (f ticketFace) awaitTicket(ctx context.Context, id string, w waitRequest) (ticket, error) {
	// A follower that began after the first reading would miss a change between the two.
	follower, err := f.tickets.Hub.Follow(id)
	if err != nil {
		return ticket{}, err
	}
	defer follower.Stop()
	over := time.NewTimer(w.waitFor)
	defer over.Stop()
	first, err := f.readTicket(ctx, id)
	if err != nil {
		return ticket{}, err
	}
	known := first.StateVersion
	if w.knownVersion != nil {
		known = *w.knownVersion
	}
	t := first
	var readAgain <-chan time.Time // nil unless the last reading failed
	for {
		// The state is compared as well, because a client may name a version that the ticket has not reached.
		if t.StateVersion > known || t.State != first.State || t.State.IsFinal() {
			return f.describeTicket(ctx, t), nil
		}
		// Only a call that waits renews the lease of the ticket; one that is answered at once does not.
		follower.KeepAlive(t.LeaseTTL)
		if !f.awaitChange(ctx, follower, readAgain, over.C) {
			return f.answerAtEnd(ctx, id, t)
		}
		latest, err := f.readTicket(ctx, id)
		// The call waits on: an error would make every player call again at once, while the database starts.
		if fault.Is(err, fault.Unavailable) {
			readAgain = time.After(readAgainAfter)
			continue
		}
		if err != nil {
			return ticket{}, err
		}
		t, readAgain = latest, nil
	}
}

// readAgainAfter is how long after a failed reading a waiting call reads again: a change is signalled only once.
const readAgainAfter = time.Second

// answerAtEnd answers a long poll whose time is over.
func (f ticketFace) answerAtEnd(ctx context.Context, id string, known db.PlayerTicket) (ticket, error) {
	// Nobody reads the answer to a caller that has left.
	if err := ctx.Err(); err != nil {
		return ticket{}, err
	}
	// The ticket is read once more: the notification of a change may have been lost.
	t, err := f.readTicket(ctx, id)
	if fault.Is(err, fault.Unavailable) {
		t, err = known, nil // nothing has changed as far as this replica knows
	}
	if err != nil {
		return ticket{}, err
	}
	return f.describeTicket(ctx, t), nil
}

// awaitChange waits for a change, or until the ticket is to be read again. It returns false when the call must end: its
// caller left, the replica stops, or over fires.
func (f ticketFace) awaitChange(ctx context.Context, follower *watch.Follower, readAgain, over <-chan time.Time) bool {
	select {
	case <-follower.Changed():
		return true
	case <-readAgain:
		return true
	case <-over:
	case <-ctx.Done():
	case <-f.tickets.Stopping:
	case <-follower.Stopped():
	}
	return false
}
