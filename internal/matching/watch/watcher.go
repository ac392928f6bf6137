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
	latestChange   chan db.Settled // holds the latest change of the ticket

	lastAssignment []byte           // the last one sent
	assignedAt     time.Time        // when it was made; zero: none was sent
	lookDue        <-chan time.Time // when to read the ticket again
}

// notifyChange replaces the change that the watcher has not handled yet. It does not block: the hub's reader is the
// only sender.
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

// handleChange handles a change from the feed. It reads the ticket where the change is not an assignment, or is older
// than the last one sent: that change may be outdated, or the database's clock went back in a failover.
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

// lookAgain reads the ticket. During an outage it tries again each second: the ticket cannot change meanwhile.
func (w *watcher) lookAgain(ctx context.Context) error {
	t, err := w.readTicket(ctx)
	if fault.Is(err, fault.Unavailable) {
		w.lookDue = time.After(time.Second)
		return nil
	}
	if err != nil {
		return err
	}
	return w.updateFrom(t)
}

func (w *watcher) updateFrom(t db.Ticket) error {
	if t.EncodedAssignment == nil {
		return nil
	}
	return w.sendUpdate(t.EncodedAssignment, t.SettledAt)
}

// sendUpdate sends an assignment unless it is the last one sent. It reads the ticket again when the assigned ticket's
// time is over: the ticket is deleted by then, or was assigned again.
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
