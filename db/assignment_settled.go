package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// Settled is a ticket that was assigned or deleted.
type Settled struct {
	TicketID          string
	IsAssigned        bool // false: deleted
	EncodedAssignment []byte
	SettledAt         time.Time
}

// SettledPage is a part of the feed of settled tickets.
type SettledPage struct {
	SettledTickets []Settled // in the order in which their transactions began to write
	NextPoint      FeedPoint // where the next page begins
	HasMore        bool      // another page has rows from before the beginning of this reading
	// ServerChanged means that Postgres was restarted or replaced, so the feed may leave out tickets that were settled
	// before NextPoint. A caller that now reads its tickets, and then the feed from NextPoint, misses nothing.
	ServerChanged bool
}

// settledPage is how many rows a page has, not counting further rows of its last transaction. A transaction of
// AssignTickets is bounded by the size of its request.
const settledPage = 1000

// SettledSince returns the next page of the tickets that were settled since a point. Called with the NextPoint of each
// page, it leaves out no ticket, whatever the order in which transactions commit; it may return a ticket twice, with
// the same values. Called with the zero point, it returns no tickets, and the current point. It reads new rows only.
// Errors: Unavailable.
func (s *Store) SettledSince(ctx context.Context, region string, since FeedPoint) (SettledPage, error) {
	var p tx.Pipeline
	var now query.CurrentSnapshotRow
	var late []query.SettledLateRow
	var newer []query.SettledSinceRow
	query.Queue(&p, &now, func(q *query.Queries, ctx context.Context, _ struct{}) (query.CurrentSnapshotRow, error) {
		return q.CurrentSnapshot(ctx)
	}, struct{}{})
	if since.readSnapshot != "" {
		// newer are the rows of transactions that began after the snapshot was taken. If the last page ended among
		// them, this one continues after its last transaction.
		from := max(snapshotEnd(since.readSnapshot), since.afterTx+1)
		query.Queue(&p, &late, (*query.Queries).SettledLate,
			query.SettledLateParams{Region: region, Before: since.readSnapshot, After: since.afterTx,
				Page: settledPage})
		query.Queue(&p, &newer, (*query.Queries).SettledSince,
			query.SettledSinceParams{Region: region, Since: from, Page: settledPage})
	}
	if err := s.q.Send(ctx, &p); err != nil {
		return SettledPage{NextPoint: since}, frame.Classify(err)
	}
	// The numbers of another server, or of one that lost transactions, cannot be compared with the point.
	if since.readSnapshot != "" && !since.isOf(now) {
		return SettledPage{NextPoint: FeedPoint{serverStartedAt: now.Server, readSnapshot: now.Snapshot},
			ServerChanged: true}, nil
	}
	rows := make([]query.SettledSinceRow, 0, len(late)+len(newer))
	for _, r := range late {
		rows = append(rows, query.SettledSinceRow(r))
	}
	rows, next, more := advanceFeed(since, now, rows, newer, settledPage,
		func(r query.SettledSinceRow) uint64 { return r.Tx })
	return SettledPage{SettledTickets: settledOf(rows), NextPoint: next, HasMore: more}, nil
}

// isOf reports whether the point is from the server that answered, which has not lost transactions since.
func (p FeedPoint) isOf(now query.CurrentSnapshotRow) bool {
	return p.serverStartedAt.Equal(now.Server) && snapshotEnd(now.Snapshot) >= snapshotEnd(p.readSnapshot)
}

func settledOf(rows []query.SettledSinceRow) []Settled {
	all := make([]Settled, 0, len(rows))
	for _, r := range rows {
		all = append(all, Settled{TicketID: r.ID, IsAssigned: r.Assigned, EncodedAssignment: r.Assignment,
			SettledAt: r.SettledAt})
	}
	return all
}
