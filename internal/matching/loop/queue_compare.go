package loop

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/query"
)

// comparison is the state of a comparison of the tickets in memory with the whole queue, a page at a time: an older
// release changes tickets without a new tx, and memory may have had no room for some.
type comparison struct {
	beganAt     time.Time // zero: none is under way
	lastID      string    // the last ticket that was compared
	comparedIDs map[string]bool

	leftOut int // tickets that are not in memory, since it is full
}

// beginComparing begins a comparison, unless one is under way or the queue is not read yet.
func (q *queue) beginComparing() {
	if q.isFullyRead && q.comparison.beganAt.IsZero() {
		q.comparison = comparison{beganAt: q.listener.currentMoment(),
			comparedIDs: make(map[string]bool, len(q.entryByID))}
	}
}

// comparePage compares the next page, if a comparison is under way, and reads the tickets that differ.
func (q *queue) comparePage(ctx context.Context) error {
	if q.comparison.beganAt.IsZero() {
		return nil
	}
	var page []query.CandidateIDsAfterRow
	var full bool
	err := callDatabase(ctx, "comparing the ticket queue", func(ctx context.Context) (err error) {
		page, full, err = q.store.CandidateIDsAfter(ctx, q.universe, q.comparison.lastID)
		return err
	})
	if err != nil {
		return err
	}
	for ids := range slices.Chunk(q.differingIDs(page), refreshPage) {
		if err := q.refreshTickets(ctx, ids); err != nil {
			return err
		}
	}
	if len(page) > 0 {
		q.comparison.lastID = page[len(page)-1].ID
	}
	if !full {
		q.removeUnknown()
		q.leftOut = q.comparison.leftOut
		q.comparison = comparison{}
	}
	return nil
}

// differingIDs returns the tickets of a page that this worker knows otherwise, or not at all though it has room for
// them.
func (q *queue) differingIDs(page []query.CandidateIDsAfterRow) (ids []string) {
	for _, r := range page {
		q.comparison.comparedIDs[r.ID] = true
		switch e := q.entryByID[r.ID]; {
		// The ids that were found before count as added, since refreshTickets reads them only after the page.
		case e == nil && q.isFull(len(ids)):
			q.comparison.leftOut++
		case e == nil || e.lastTx != r.Tx:
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// removeUnknown removes the tickets that were in no page, unless they came after the comparison began.
func (q *queue) removeUnknown() {
	for id, e := range q.entryByID {
		if !q.comparison.comparedIDs[id] && e.seenAt.Before(q.comparison.beganAt) {
			q.announceLeft(id)
			q.removeTicket(id)
		}
	}
}
