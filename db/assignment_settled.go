package db

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/db/internal/tx"
)

// Settled is what became of a ticket.
type Settled struct {
	ID         string
	Assigned   bool // else it was deleted
	Assignment []byte
	At         time.Time
}

// SettledPoint is how far a reader has read the feed of settled tickets. The zero value is before the first reading. It
// means nothing to another process.
//
// Transactions do not commit in the order of their numbers, so a point is no number: it is a snapshot, all that is visible
// in which has been read. What is new since is in transactions that the snapshot lists as in progress, and in those that
// began to write after it. A transaction that is left open stays in that list and delays nothing.
type SettledPoint struct {
	server time.Time // when the Postgres was started that counted the transactions
	read   string    // the snapshot; "" before the first reading

	target string // the snapshot that a reading which is not complete goes up to; "" between readings
	after  uint64 // of that reading, the last transaction that was read
}

// IsZero reports whether nothing was read yet.
func (p SettledPoint) IsZero() bool { return p == SettledPoint{} }

// SettledPage is a part of the feed.
type SettledPage struct {
	Settled []Settled    // in the order in which their transactions began to write
	Next    SettledPoint // where the feed goes on
	More    bool         // there is more up to the moment at which this reading began
	// Anew says that Postgres was restarted or replaced: tickets may have been settled that no page tells of. They can be
	// looked at from now on; Next is from before.
	Anew bool
}

// settledPage is how many rows a page has, beside those of its last transaction. A transaction of AssignTickets is bounded
// by the size of its request.
const settledPage = 1000

// SettledSince tells what became of tickets since a point. Asked with the Next of each page, it leaves nothing out, whatever
// the order in which transactions end; a ticket may come twice, and is the same then. From the zero point on it tells
// nothing but the point of now. What it reads is bounded by what is new. Errors: Unavailable.
func (s *Store) SettledSince(ctx context.Context, region string, since SettledPoint) (SettledPage, error) {
	var p tx.Pipeline
	var now SettledNowRow
	var late []SettledLateRow
	var young []SettledSinceRow
	queue(&p, &now, func(q *Queries, ctx context.Context, _ struct{}) (SettledNowRow, error) { return q.SettledNow(ctx) }, struct{}{})
	if since.read != "" {
		from := max(snapshotEnd(since.read), since.after+1)
		queue(&p, &late, (*Queries).SettledLate, SettledLateParams{Region: region, Before: since.read, After: since.after, Page: settledPage})
		queue(&p, &young, (*Queries).SettledSince, SettledSinceParams{Region: region, Since: from, Page: settledPage})
	}
	if err := s.q.send(ctx, &p); err != nil {
		return SettledPage{Next: since}, classify(err)
	}
	if since.read == "" || since.isOf(now) {
		return since.advance(now.Snapshot, now.Server, late, young), nil
	}
	return SettledPage{Next: SettledPoint{server: now.Server, read: now.Snapshot}, Anew: true}, nil
}

// isOf tells whether the server that answered is the one that the point is of, and has not lost transactions since.
func (p SettledPoint) isOf(now SettledNowRow) bool {
	return p.server.Equal(now.Server) && snapshotEnd(now.Snapshot) >= snapshotEnd(p.read)
}

// advance makes a page of rows. Those of late transactions come first, and all of them before any of the others.
func (p SettledPoint) advance(now string, server time.Time, late []SettledLateRow, young []SettledSinceRow) SettledPage {
	if p.target == "" {
		p.target = now
	}
	var rows []SettledSinceRow
	for _, r := range late {
		rows = append(rows, SettledSinceRow(r))
	}
	full := len(late) >= settledPage
	if !full {
		rows = append(rows, young...)
		// What began to write after the target is the next reading's: else a reading would never end under load.
		full = len(young) >= settledPage && young[len(young)-1].Tx < snapshotEnd(p.target)
	}
	page := SettledPage{Settled: settledOf(rows), More: full, Next: SettledPoint{server: server, read: p.target}}
	if full {
		page.Next = SettledPoint{server: server, read: p.read, target: p.target, after: rows[len(rows)-1].Tx}
	}
	return page
}

func settledOf(rows []SettledSinceRow) []Settled {
	all := make([]Settled, 0, len(rows))
	for _, r := range rows {
		all = append(all, Settled{ID: r.ID, Assigned: r.Assigned, Assignment: r.Assignment, At: r.SettledAt})
	}
	return all
}

// snapshotEnd is the first transaction that had not begun to write in a snapshot (xmin:xmax:xip,…).
func snapshotEnd(snapshot string) uint64 {
	_, rest, _ := strings.Cut(snapshot, ":")
	end, _, _ := strings.Cut(rest, ":")
	n, _ := strconv.ParseUint(end, 10, 64) // Postgres wrote it
	return n
}
