package db

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// FeedEnd returns a point from which a feed returns all later changes. A caller can therefore read everything, and then
// the changes made in the meantime. Errors: Unavailable.
func (s *Store) FeedEnd(ctx context.Context) (FeedPoint, error) {
	now, err := s.q.CurrentSnapshot(ctx)
	return FeedPoint{serverStartedAt: now.Server, readSnapshot: now.Snapshot}, frame.Classify(err)
}

// IsZero reports whether nothing was read yet.
func (p FeedPoint) IsZero() bool { return p == FeedPoint{} }

// Includes reports whether all writes of a transaction are before the point. The transaction must have ended.
func (p FeedPoint) Includes(tx uint64) bool {
	if p.readSnapshot == "" || tx >= snapshotEnd(p.readSnapshot) {
		return false
	}
	running := strings.Split(p.readSnapshot[strings.LastIndexByte(p.readSnapshot, ':')+1:], ",")
	return !slices.Contains(running, strconv.FormatUint(tx, 10))
}

// advanceFeed makes a page of the rows that two statements returned: late are of transactions that were in progress at
// since, newer are of later transactions, and are taken only when all late rows are in the page. size is how many rows
// a statement returns, not counting further rows of its last transaction, and tx returns the transaction of a row. The
// results are the rows of the page, the point after them, and whether another page has rows from before the beginning
// of this reading.
func advanceFeed[R any](since FeedPoint, now query.CurrentSnapshotRow, late, newer []R, size int,
	tx func(R) uint64) (rows []R, next FeedPoint, more bool) {
	// A reading that is under way keeps its target, whatever has happened since it began.
	target := since.targetSnapshot
	if target == "" {
		target = now.Snapshot
	}
	rows, more = late, len(late) >= size
	if !more {
		rows = append(rows, newer...)
		// Transactions after the target belong to the next reading: otherwise a reading would never end under load.
		more = len(newer) >= size && tx(newer[len(newer)-1]) < snapshotEnd(target)
	}
	if more {
		return rows, FeedPoint{serverStartedAt: now.Server, readSnapshot: since.readSnapshot, targetSnapshot: target,
			afterTx: tx(rows[len(rows)-1])}, true
	}
	return rows, FeedPoint{serverStartedAt: now.Server, readSnapshot: target}, false
}

// FeedPoint is a position in a feed of changes that transactions have committed. The zero value is before the first
// reading. A point is valid in the process that read it only.
//
// Transactions do not commit in the order of their numbers, so a point is not a number but a snapshot: every row that
// is visible in it has been read. New rows come from transactions that the snapshot lists as in progress, and from
// later ones. A transaction that stays open stays in that list, and does not delay the feed.
type FeedPoint struct {
	serverStartedAt time.Time // when the server started that numbers the transactions
	readSnapshot    string    // the snapshot; "" before the first reading

	targetSnapshot string // the snapshot up to which an unfinished reading reads; "" between readings
	afterTx        uint64 // the last transaction that this reading has read
}

// snapshotEnd returns xmax of a snapshot (xmin:xmax:xip,…): the first transaction that had not begun to write.
func snapshotEnd(snapshot string) uint64 {
	_, rest, _ := strings.Cut(snapshot, ":")
	end, _, _ := strings.Cut(rest, ":")
	n, _ := strconv.ParseUint(end, 10, 64) // no error: Postgres wrote the text
	return n
}
