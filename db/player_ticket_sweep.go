package db

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// expire takes expired tickets, which the transaction has locked, out of the queue, and returns how many it took out.
// Those of players get a final state.
func (s *Store) expire(ctx context.Context, q *query.Queries, region string, ids []string) (n int, err error) {
	rows, err := q.WithPlayers(ctx, query.WithPlayersParams{Region: region, Ids: ids})
	if err != nil {
		return 0, err
	}
	var leave []leavingTicket
	for _, r := range rows {
		leave = append(leave, leavingTicket{ticketID: r.ID, finalState: TicketExpired, finalReason: r.Reason, isForced: true})
	}
	// Tickets of Open Match clients have no states, and are deleted.
	others := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(leave, func(l leavingTicket) bool { return l.ticketID == id })
	})
	gone, err := q.DeleteQueued(ctx, query.DeleteQueuedParams{Region: region, Ids: others})
	if err != nil {
		return 0, err
	}
	_, err = s.leaveQueue(ctx, q, region, leave)
	return len(gone) + len(leave), err
}

// RecordLostTickets records the final state of players' tickets that an older release, or a client of Open Match, took
// out of the queue, at most batch. Players see that state without the record as long as the row of the settled ticket
// is kept. Errors: Unavailable.
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
			// The only thing left that says when the ticket was created is its id, to the second.
			left = append(left, query.LeaveQueueRow{ID: r.ID, Created: issuedAt(r.ID).UnixNano(),
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

// newlyRetired is how long after the retirement of a profile a worker looks for its tickets every second. Most can be
// cancelled by then; those that leave a match later are found by the slower sweep.
const newlyRetired = 10 * time.Second

// CancelNewlyRetired calls [Store.CancelRetired] only if a profile was retired within the last ten seconds, since that
// searches the queue. Errors: Unavailable.
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
		var leave []leavingTicket
		for _, id := range ids {
			leave = append(leave, leavingTicket{ticketID: id, finalState: TicketCancelled, finalReason: reasonRetired})
		}
		_, err = s.leaveQueue(ctx, q, region, leave)
		return err
	})
	if n > 0 && err == nil {
		s.notifyLeft(region)
	}
	return n, frame.Classify(err)
}
