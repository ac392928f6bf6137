package loop

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db"
)

// newestShare divides the tickets that memory has room for: so many of the newest ones are read first.
const newestShare = 40

// loadNewest reads the newest tickets before all others: those that came while no worker decided are more likely to be
// in a match than those that waited before without one.
func (q *queue) loadNewest(ctx context.Context) error {
	most := q.memoryLimit.maxTickets / newestShare
	if most == 0 {
		return nil
	}
	var newest []db.Candidate
	err := callDatabase(ctx, "reading the newest tickets", func(ctx context.Context) (err error) {
		newest, err = q.store.NewestCandidates(ctx, q.universe, most)
		return err
	})
	if err != nil {
		return err
	}
	q.putPage(newest)
	return nil
}

// loadPage adds the next page of the tickets, the oldest first, and begins to read the page after it, so that profiles
// decide meanwhile. Tickets that are known stay as they are. A ticket that leaves before its page is read is in no page,
// and one that leaves later is in the changes.
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
		// A change that the loop has applied already may be newer than the page: the older version must not replace it.
		_, isOvertaken := overtaken[c.TicketID]
		return isOvertaken
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
	readDone     chan pageResult
	overtakenIDs map[string]struct{} // tickets that changed or left since the reading began
}

// pageResult is a page that was read.
type pageResult struct {
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

// readAhead begins to read the page after lastReadID.
func (q *queue) readAhead(ctx context.Context) *pageAhead {
	a := &pageAhead{readDone: make(chan pageResult, 1), overtakenIDs: map[string]struct{}{}}
	after := q.lastReadID // the loop may change it before the goroutine reads it
	go func() {
		var p pageResult
		p.err = callDatabase(ctx, "reading a page of the ticket queue", func(ctx context.Context) (err error) {
			p.tickets, p.hasNext, err = q.store.CandidatesAfter(ctx, q.universe, after)
			return err
		})
		// The channel has room, so that the goroutine ends even if the loop has begun anew and nobody takes the page.
		a.readDone <- p
	}()
	return a
}
