package loop

import (
	"context"

	"github.com/lattice-director/director/db"
)

// startFollowing reads the points from which followChanges reads on, and the newest tickets. The older ones are left to
// loadPage.
func (q *queue) startFollowing(ctx context.Context) error {
	err := callDatabase(ctx, "reading the end of the ticket feed", func(ctx context.Context) (err error) {
		q.changesPoint, err = q.store.FeedEnd(ctx)
		return err
	})
	if err != nil {
		return err
	}
	// Both points are read before any ticket, so that followChanges reads every change after these readings.
	settled, err := q.settledSince(ctx, db.FeedPoint{})
	if err != nil {
		return err
	}
	q.settledPoint, q.followsChanges = settled.NextPoint, true
	return q.loadNewest(ctx)
}

// followChanges reads what changed since the last reading.
func (q *queue) followChanges(ctx context.Context) error {
	for more := true; more; {
		page, err := q.readChanged(ctx)
		if err != nil {
			return err
		}
		if page.ServerChanged {
			return errRestarted
		}
		for _, c := range page.Candidates {
			q.nextPage.noteOvertaken(c.TicketID)
		}
		q.putPage(page.Candidates)
		q.changesPoint, more = page.NextPoint, page.HasMore
	}
	// The tickets that left are read after those that came: one that came and left in between is put and then removed.
	for more := true; more; {
		page, err := q.settledSince(ctx, q.settledPoint)
		if err != nil {
			return err
		}
		if page.ServerChanged {
			return errRestarted
		}
		for _, s := range page.SettledTickets {
			q.nextPage.noteOvertaken(s.TicketID)
			if !s.IsAssigned {
				q.announceLeft(s.TicketID)
			}
			q.removeTicket(s.TicketID)
		}
		q.settledPoint, more = page.NextPoint, page.HasMore
	}
	q.freeOverdue()
	return nil
}

// readChanged reads a page of what changed.
func (q *queue) readChanged(ctx context.Context) (page db.CandidatePage, err error) {
	err = callDatabase(ctx, "reading the changes of the ticket queue", func(ctx context.Context) (err error) {
		page, err = q.store.CandidatesSince(ctx, q.universe, q.changesPoint)
		return err
	})
	return page, err
}

// settledSince reads a page of what left the queue.
func (q *queue) settledSince(ctx context.Context, since db.FeedPoint) (page db.SettledPage, err error) {
	err = callDatabase(ctx, "reading which tickets left the queue", func(ctx context.Context) (err error) {
		page, err = q.store.SettledSince(ctx, q.universe, since)
		return err
	})
	return page, err
}
