package loop

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db"
)

// pageAhead is a page of the queue that is read while the loop works on the page before it. It is older than changes that are read
// meanwhile.
type pageAhead struct {
	done      chan readPage
	overtaken map[string]struct{} // tickets that changed or left since the reading began
}

// readPage is a page that was read.
type readPage struct {
	tickets []db.Candidate
	full    bool // another page may follow
	err     error
}

// overtake notes that a ticket of the page may be older than a change that was read. It does nothing on nil.
func (a *pageAhead) overtake(id string) {
	if a != nil {
		a.overtaken[id] = struct{}{}
	}
}

// readAhead begins to read the page after the last one.
func (q *queue) readAhead(ctx context.Context) *pageAhead {
	a, after := &pageAhead{done: make(chan readPage, 1), overtaken: map[string]struct{}{}}, q.last
	go func() {
		var p readPage
		p.err = reading(ctx, "reading a page of the ticket queue", func(ctx context.Context) (err error) {
			p.tickets, p.full, err = q.store.CandidatesAfter(ctx, q.universe, after)
			return err
		})
		a.done <- p
	}()
	return a
}

// newestShare is which part of the tickets in memory may be the newest ones, where not all have room.
const newestShare = 40

// loadNewest reads the newest tickets before all others: those that came while no worker decided are more likely to be in a match than those
// that waited before without one.
func (q *queue) loadNewest(ctx context.Context) error {
	most := q.limit.tickets / newestShare
	if most == 0 {
		return nil
	}
	return reading(ctx, "reading the newest tickets", func(ctx context.Context) error {
		newest, err := q.store.NewestCandidates(ctx, q.universe, most)
		q.putPage(newest)
		return err
	})
}

// load takes the next page of the tickets, the oldest first, so that profiles decide about them meanwhile. Tickets that are known stay as they
// are. One that leaves before its page is read is in no page, and one that leaves later is in the changes.
func (q *queue) load(ctx context.Context) error {
	if q.ahead == nil {
		q.ahead = q.readAhead(ctx)
	}
	page, overtaken := <-q.ahead.done, q.ahead.overtaken
	q.ahead = nil
	if page.err != nil {
		return page.err
	}
	if page.full {
		q.last = page.tickets[len(page.tickets)-1].ID
		q.ahead = q.readAhead(ctx)
	}
	q.putPage(slices.DeleteFunc(page.tickets, func(c db.Candidate) bool {
		_, old := overtaken[c.ID]
		return old
	}))
	if q.loaded = !page.full || q.full(0); q.loaded {
		q.ahead = nil
	}
	return nil
}
