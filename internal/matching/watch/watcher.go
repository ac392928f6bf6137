package watch

import (
	"bytes"
	"context"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

const (
	readTimeout     = 5 * time.Second       // of one call of the database
	minLookInterval = 50 * time.Millisecond // between two readings of one ticket by its watcher
)

// ticketReader is what a watcher needs of the database.
type ticketReader interface {
	GetTicket(ctx context.Context, region, id string) (db.Ticket, error)
	Timing() db.Timing
	Now() time.Time
}

// watcher is one call of Watch.
type watcher struct {
	store          ticketReader
	region         string
	id             string
	hubStopped     <-chan struct{} // closed when the hub has stopped
	sendAssignment func(assignment []byte) error
	latestChange   chan db.Settled // holds the latest change that followTicket has not handled

	lastAssignment []byte           // the last one sent
	assignedAt     time.Time        // when lastAssignment was made, or repeated; zero: none was sent
	lookDue        <-chan time.Time // when to read the ticket again; nil: only after a change
}

// notifyChange replaces the change that the watcher has not handled yet. It does not block, since only the goroutine of
// Hub.Run calls it.
func (w *watcher) notifyChange(s db.Settled) {
	select {
	// Only the latest change counts. If the watcher takes the old one at the same time, the channel is empty as well.
	case <-w.latestChange:
	default:
	}
	w.latestChange <- s
}

// followTicket sends changes of the ticket until it is gone, its caller leaves or the hub stops. It never returns nil.
func (w *watcher) followTicket(ctx context.Context) error {
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.hubStopped:
			return stoppedError()
		case s := <-w.latestChange:
			err = w.handleChange(ctx, s)
		case <-w.lookDue:
			err = w.lookAgain(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// handleChange sends the assignment of a change from the feed. A change without an assignment, or older than the
// assignment sent last, makes it read the ticket: the change may be outdated, or the database's clock went back in a
// failover.
func (w *watcher) handleChange(ctx context.Context, s db.Settled) error {
	if !s.IsAssigned || s.SettledAt.Before(w.assignedAt) {
		return w.lookAgain(ctx)
	}
	return w.sendUpdate(s.EncodedAssignment, s.SettledAt)
}

func (w *watcher) readTicket(ctx context.Context) (db.Ticket, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return w.store.GetTicket(ctx, w.region, w.id)
}

// lookAgain reads the ticket and sends its assignment. In an outage it has followTicket call it again after a second:
// the ticket cannot change meanwhile. Errors: NotFound when the ticket is gone, which ends the watch.
func (w *watcher) lookAgain(ctx context.Context) error {
	t, err := w.readTicket(ctx)
	if fault.Is(err, fault.Unavailable) {
		w.lookDue = time.After(time.Second)
		return nil
	}
	if err != nil {
		return err
	}
	return w.sendAssignmentOf(t)
}

// sendAssignmentOf sends the assignment of a ticket, if it has one.
func (w *watcher) sendAssignmentOf(t db.Ticket) error {
	if t.EncodedAssignment == nil {
		return nil
	}
	return w.sendUpdate(t.EncodedAssignment, t.SettledAt)
}

// sendUpdate sends an assignment unless it equals the one sent last, and sets lookDue to when the assigned ticket's
// time is over: by then the ticket is deleted, or was assigned again.
func (w *watcher) sendUpdate(assignment []byte, at time.Time) error {
	// An assignment that is repeated unchanged extends the ticket's life as well: the next look is put off before the
	// comparison.
	left := at.Add(w.store.Timing().AssignedFor).Sub(w.store.Now())
	w.lookDue = time.After(max(left, minLookInterval))
	unchanged := !w.assignedAt.IsZero() && bytes.Equal(w.lastAssignment, assignment)
	w.lastAssignment, w.assignedAt = assignment, at
	if unchanged {
		return nil
	}
	return w.sendAssignment(assignment)
}

func stoppedError() error { return unavailableError("this replica is shutting down") }

func unavailableError(detail string) error {
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: detail, RetryAfter: time.Second}
}
