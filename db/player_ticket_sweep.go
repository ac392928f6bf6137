package db

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// expire takes expired tickets, which the transaction has locked, out of the queue. Those of players get a final state.
func (s *Store) expire(ctx context.Context, q *query.Queries, region string, ids []string) (n int, err error) {
	rows, err := q.WithPlayers(ctx, query.WithPlayersParams{Region: region, Ids: ids})
	if err != nil {
		return 0, err
	}
	var leave []leaving
	for _, r := range rows {
		leave = append(leave, leaving{r.ID, TicketExpired, r.Reason, true})
	}
	// Tickets of Open Match clients have no states, and are deleted.
	others := slices.DeleteFunc(ids, func(id string) bool {
		return slices.ContainsFunc(leave, func(l leaving) bool { return l.ticketID == id })
	})
	gone, err := q.DeleteQueued(ctx, query.DeleteQueuedParams{Region: region, Ids: others})
	if err != nil {
		return 0, err
	}
	_, err = s.leaveQueue(ctx, q, region, leave)
	return len(gone) + len(leave), err
}

// RecordLostTickets records the final state of players' tickets that an older release, or a client of Open Match, took
// out of the queue, at most batch. Players see that state already: they need the record once the ticket itself is
// forgotten. Errors: Unavailable.
func (s *Store) RecordLostTickets(ctx context.Context, region string, batch int) (n int, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		ids, err := q.LostTickets(ctx, query.LostTicketsParams{Region: region, Batch: int32(batch)})
		n = len(ids)
		if err != nil || n == 0 {
			return err
		}
		rows, err := q.RecordLost(ctx, query.RecordLostParams{Region: region, Ids: ids})
		if err != nil {
			return err
		}
		left := make([]query.LeaveQueueRow, 0, len(rows))
		for _, r := range rows {
			// The id of a ticket has the second of its creation, which is all that is left of it.
			left = append(left, query.LeaveQueueRow{ID: r.ID, Created: issuedAfter(r.ID).Add(clockSkew).UnixNano(),
				Body: r.Body, State: r.State, Party: r.Party, Profiles: r.Profiles})
		}
		s.recordHistory(q, region, left)
		return nil
	})
	if n > 0 && err == nil {
		s.Notify(TopicTicketEvents, region)
	}
	return n, frame.Classify(err)
}

// newlyRetired is how long after the retirement of a profile its tickets are searched every second. Later, few become
// free.
const newlyRetired = 10 * time.Second

// CancelNewlyRetired calls [Store.CancelRetired] only if a profile was retired within the last ten seconds, so that it
// is usually cheap.
func (s *Store) CancelNewlyRetired(ctx context.Context, region string, batch int) (int, error) {
	retired, err := s.q.RetiredRecently(ctx, query.RetiredRecentlyParams{Region: region, Within: newlyRetired})
	if err != nil || !retired {
		return 0, frame.Classify(err)
	}
	return s.CancelRetired(ctx, region, batch)
}

// CancelRetired cancels tickets that wait for retired profiles only, at most batch. Those that are in a match stay
// until it has ended. Errors: Unavailable.
func (s *Store) CancelRetired(ctx context.Context, region string, batch int) (n int, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		ids, err := q.TicketsOfRetired(ctx,
			query.TicketsOfRetiredParams{Region: region, Batch: int32(batch), PendingFor: s.cfg.Timing.PendingFor})
		n = len(ids)
		if err != nil || n == 0 {
			return err
		}
		var leave []leaving
		for _, id := range ids {
			leave = append(leave, leaving{id, TicketCancelled, reasonRetired, false})
		}
		_, err = s.leaveQueue(ctx, q, region, leave)
		return err
	})
	if n > 0 && err == nil {
		s.notifyLeft(region)
	}
	return n, frame.Classify(err)
}
