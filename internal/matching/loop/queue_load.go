package loop

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/query"
)

// newestShare is which part of the tickets in memory may be the newest ones, where not all have room.
const newestShare = 40

// loadNewest reads the newest tickets before all others: those that came while no worker decided are more likely to be
// in a match than those that waited before without one.
func (q *queue) loadNewest(ctx context.Context) error {
	most := q.memoryLimit.maxTickets / newestShare
	if most == 0 {
		return nil
	}
	return callDatabase(ctx, "reading the newest tickets", func(ctx context.Context) error {
		newest, err := q.store.NewestCandidates(ctx, q.universe, most)
		q.putPage(newest)
		return err
	})
}

// loadPage takes the next page of the tickets, the oldest first, so that profiles decide about them meanwhile. Tickets
// that are known stay as they are. One that leaves before its page is read is in no page, and one that leaves later is
// in the changes.
func (q *queue) loadPage(ctx context.Context) error {
	if q.nextPage == nil {
		q.nextPage = q.readAhead(ctx)
	}
	page, overtaken := <-q.nextPage.readDone, q.nextPage.overtakenIDs
	q.nextPage = nil
	if page.err != nil {
		return page.err
	}
	if page.hasNext {
		q.lastReadID = page.tickets[len(page.tickets)-1].TicketID
		q.nextPage = q.readAhead(ctx)
	}
	q.putPage(slices.DeleteFunc(page.tickets, func(c db.Candidate) bool {
		// The page was read before a change that the loop has applied already: the older version must not replace it.
		_, old := overtaken[c.TicketID]
		return old
	}))
	// Once memory is full, the rest is left to comparisons, which find the tickets for which there is room again.
	q.isFullyRead = !page.hasNext || q.isFull(0)
	if q.isFullyRead {
		q.nextPage = nil
	}
	return nil
}

// pageAhead is a page of the queue that is read while the loop works on the page before it. It is older than changes
// that are read meanwhile.
type pageAhead struct {
	readDone     chan readPage
	overtakenIDs map[string]struct{} // tickets that changed or left since the reading began
}

// readPage is a page that was read.
type readPage struct {
	tickets []db.Candidate
	hasNext bool // another page may follow
	err     error
}

// noteOvertaken notes that a ticket of the page may be older than a change that was read. It does nothing on nil.
func (a *pageAhead) noteOvertaken(id string) {
	if a != nil {
		a.overtakenIDs[id] = struct{}{}
	}
}

// readAhead begins to read the page after the last one.
func (q *queue) readAhead(ctx context.Context) *pageAhead {
	a, after := &pageAhead{readDone: make(chan readPage, 1), overtakenIDs: map[string]struct{}{}}, q.lastReadID
	go func() {
		var p readPage
		p.err = callDatabase(ctx, "reading a page of the ticket queue", func(ctx context.Context) (err error) {
			p.tickets, p.hasNext, err = q.store.CandidatesAfter(ctx, q.universe, after)
			return err
		})
		// It has room for the page, so that the goroutine ends even if the loop has begun anew and nobody takes it.
		a.readDone <- p
	}()
	return a
}

// beginComparing begins a comparison.
func (q *queue) beginComparing() {
	if q.isFullyRead && q.comparison.beganAt.IsZero() {
		q.comparison = comparison{beganAt: q.listener.currentMoment(),
			comparedIDs: make(map[string]bool, len(q.entryByID))}
	}
}

// reconcileOn compares the next page.
func (q *queue) reconcileOn(ctx context.Context) error {
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
		// The ids before count as added, since they are read only after the page.
		case e == nil && q.isFull(len(ids)):
			q.comparison.leftOut++
		case e == nil || e.lastTx != r.Tx:
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// removeUnknown removes the tickets that were in no page, unless they came since.
func (q *queue) removeUnknown() {
	for id, e := range q.entryByID {
		if !q.comparison.comparedIDs[id] && e.seenAt.Before(q.comparison.beganAt) {
			q.announceLeft(id)
			q.removeTicket(id)
		}
	}
}
