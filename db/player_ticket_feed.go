package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// TicketEventsPage is a part of the feed of ticket_events.
type TicketEventsPage struct {
	TicketIDs     []string // that entered other states
	NextPoint     FeedPoint
	HasMore       bool // there is more up to the moment at which this reading began
	ServerChanged bool // as in [SettledPage]: any ticket may have entered another state
}

// TicketEventsSince returns the tickets that entered other states since a point, as [Store.SettledSince] returns those
// that left the queue. From the zero point on it returns the point of now only. Errors: Unavailable.
func (s *Store) TicketEventsSince(ctx context.Context, region string, since FeedPoint) (TicketEventsPage, error) {
	var p tx.Pipeline
	var now query.CurrentSnapshotRow
	var late []query.EventsLateRow
	var young []query.EventsSinceRow
	query.Queue(&p, &now, func(q *query.Queries, ctx context.Context, _ struct{}) (query.CurrentSnapshotRow, error) {
		return q.CurrentSnapshot(ctx)
	}, struct{}{})
	// The first reading has no past, and needs a point only.
	if since.readSnapshot != "" {
		from := max(snapshotEnd(since.readSnapshot), since.afterTx+1)
		query.Queue(&p, &late, (*query.Queries).EventsLate,
			query.EventsLateParams{Region: region, Before: since.readSnapshot, After: since.afterTx, Page: settledPage})
		query.Queue(&p, &young, (*query.Queries).EventsSince,
			query.EventsSinceParams{Region: region, Since: from, Page: settledPage})
	}
	if err := s.q.Send(ctx, &p); err != nil {
		return TicketEventsPage{NextPoint: since}, frame.Classify(err)
	}
	// Transaction numbers of another server are of another history: the caller reads all its tickets anew.
	if since.readSnapshot != "" && !since.isOf(now) {
		return TicketEventsPage{NextPoint: FeedPoint{serverStartedAt: now.Server, readSnapshot: now.Snapshot},
			ServerChanged: true}, nil
	}
	rows := make([]query.EventsSinceRow, 0, len(late)+len(young))
	for _, r := range late {
		rows = append(rows, query.EventsSinceRow(r))
	}
	rows, next, more := advanceFeed(since, now, rows, young, settledPage,
		func(r query.EventsSinceRow) uint64 { return r.Tx })
	page := TicketEventsPage{NextPoint: next, HasMore: more}
	for _, r := range rows {
		page.TicketIDs = append(page.TicketIDs, r.TicketID)
	}
	return page, nil
}
