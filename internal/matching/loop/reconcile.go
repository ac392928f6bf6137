package loop

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/query"
)

// comparison compares the whole queue with the database, a page at a time: an older release changes tickets without a new tx, and a limit
// may have left some out.
type comparison struct {
	began time.Time // zero: none is under way
	last  string    // the last ticket that was compared
	known map[string]bool

	leftOut int // tickets that are not in memory, since it is full
}

// reconcile begins a comparison.
func (q *queue) reconcile() {
	if q.loaded && q.compare.began.IsZero() {
		q.compare = comparison{began: q.to.moment(), known: make(map[string]bool, len(q.entries))}
	}
}

// reconcileOn compares the next page.
func (q *queue) reconcileOn(ctx context.Context) error {
	if q.compare.began.IsZero() {
		return nil
	}
	var page []query.CandidateIDsAfterRow
	var full bool
	err := reading(ctx, "comparing the ticket queue", func(ctx context.Context) (err error) {
		page, full, err = q.store.CandidateIDsAfter(ctx, q.universe, q.compare.last)
		return err
	})
	if err != nil {
		return err
	}
	for ids := range slices.Chunk(q.differing(page), refreshPage) {
		if err := q.refresh(ctx, ids); err != nil {
			return err
		}
	}
	if len(page) > 0 {
		q.compare.last = page[len(page)-1].ID
	}
	if !full {
		q.removeUnknown()
		q.leftOut = q.compare.leftOut
		q.compare = comparison{}
	}
	return nil
}

// differing returns the tickets of a page that this worker knows otherwise, or not at all though it has room for them.
func (q *queue) differing(page []query.CandidateIDsAfterRow) (ids []string) {
	for _, r := range page {
		q.compare.known[r.ID] = true
		switch e := q.entries[r.ID]; {
		case e == nil && q.full(len(ids)):
			q.compare.leftOut++
		case e == nil || e.tx != r.Tx:
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// removeUnknown removes the tickets that were in no page, unless they came since.
func (q *queue) removeUnknown() {
	for id, e := range q.entries {
		if !q.compare.known[id] && e.seen.Before(q.compare.began) {
			q.announceLeft(id)
			q.remove(id)
		}
	}
}
