package loop

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
)

// listener learns of changes of the queue.
type listener interface {
	// moment returns the time, never before that of an earlier call.
	moment() time.Time
	ticketFree(e *entry)
	ticketGone(e *entry)
	ticketLeft(e *entry) // before ticketGone: it left the queue, as far as is known without a match
}

// queue is the queue of a universe as this worker knows it. It reads everything once and then what changes. The changes
// since a moment are those that a snapshot of then does not see, whatever the order in which transactions commit, and
// nothing is read again behind a transaction that stays open.
type queue struct {
	store     Store
	universe  string
	playerArg string
	limit     limit
	listener  listener

	entries       map[string]*entry
	index         index
	heldBytes     int               // of the entries
	inMatches     map[string]*entry // free again when the time of their match has passed
	nextOverdueAt time.Time         // the earliest of these times, or an earlier one; zero: none is in a match
	unrecorded    []unrecorded      // oldest first

	// Following changes.
	followsChanges bool            // from changesPoint and settledPoint on
	changesPoint   db.SettledPoint // up to which the tickets that came or changed were read
	settledPoint   db.SettledPoint // up to which the tickets that left were read

	// Reading everything.
	isFullyRead bool       // the tickets that waited when changes were first followed
	lastReadID  string     // of the last page
	nextPage    *pageAhead // that is being read; nil: none
	comparison  comparison
	leftOut     int // tickets of the queue for which the last comparison found no place in memory
}

// limit bounds the tickets in memory.
type limit struct{ tickets, bytes int }

func newQueue(o Options, to listener) *queue {
	return &queue{
		store: o.Store, universe: o.Universe, playerArg: o.PlayerArg, limit: limit{o.MaxCandidates, o.Memory},
		listener: to,
		entries:  map[string]*entry{}, index: newIndex(), inMatches: map[string]*entry{},
	}
}

func (q *queue) len() int { return len(q.entries) }

// isFull reports whether there is no place for another ticket beside so many that will be added.
func (q *queue) isFull(added int) bool {
	return len(q.entries)+added >= q.limit.tickets || q.heldBytes+added*entryBytes >= q.limit.bytes
}

// start reads where the changes begin that follow is to read, and the newest tickets. Then load reads the tickets of
// before.
func (q *queue) start(ctx context.Context) error {
	err := reading(ctx, "reading the end of the ticket feed", func(ctx context.Context) (err error) {
		q.changesPoint, err = q.store.FeedEnd(ctx)
		return err
	})
	if err != nil {
		return err
	}
	// Both points are read before any ticket: what changes from here on is read as a change, and is not missed.
	settled, err := q.settledSince(ctx, db.SettledPoint{})
	if err != nil {
		return err
	}
	q.settledPoint, q.followsChanges = settled.Next, true
	return q.loadNewest(ctx)
}

// follow reads what changed since the last reading.
func (q *queue) follow(ctx context.Context) error {
	for more := true; more; {
		page, err := q.changed(ctx)
		if err != nil {
			return err
		}
		if page.ServerChanged {
			return errRestarted
		}
		for _, c := range page.Candidates {
			q.nextPage.overtake(c.ID)
		}
		q.putPage(page.Candidates)
		q.changesPoint, more = page.Next, page.HasMore
	}
	for more := true; more; {
		page, err := q.settledSince(ctx, q.settledPoint)
		if err != nil {
			return err
		}
		if page.ServerChanged {
			return errRestarted
		}
		for _, s := range page.Settled {
			q.nextPage.overtake(s.ID)
			if !s.Assigned {
				q.announceLeft(s.ID)
			}
			q.remove(s.ID)
		}
		q.settledPoint, more = page.Next, page.HasMore
	}
	q.freeOverdue()
	return nil
}

// changed reads a page of what changed.
func (q *queue) changed(ctx context.Context) (page db.CandidatePage, err error) {
	err = reading(ctx, "reading the changes of the ticket queue", func(ctx context.Context) (err error) {
		page, err = q.store.CandidatesSince(ctx, q.universe, q.changesPoint)
		return err
	})
	return page, err
}

// settledSince reads a page of what left the queue.
func (q *queue) settledSince(ctx context.Context, since db.SettledPoint) (page db.SettledPage, err error) {
	err = reading(ctx, "reading which tickets left the queue", func(ctx context.Context) (err error) {
		page, err = q.store.SettledSince(ctx, q.universe, since)
		return err
	})
	return page, err
}

// putPage adds the tickets of one page. They have one moment, at which the next decision is made, and an order that
// depends only on them, so that a replay of the history makes the same decisions.
func (q *queue) putPage(page []db.Candidate) {
	if len(page) == 0 {
		return
	}
	at := q.listener.moment()
	slices.SortFunc(page, func(a, b db.Candidate) int {
		return cmp.Or(a.Created.Compare(b.Created),
			cmp.Compare(a.ID, b.ID))
	})
	for _, c := range page {
		q.put(c, at)
	}
}

// put adds a ticket that was read at a moment.
func (q *queue) put(c db.Candidate, at time.Time) {
	old := q.entries[c.ID]
	// The oldest stay: a ticket for which there is no place is found by a later comparison.
	if old == nil && q.isFull(0) {
		return
	}
	e := newEntry(c, at, q.playerArg)
	if old != nil {
		e.seenAt = old.seenAt
		// The same version as before, and as free: pages and changes overlap, and each ticket must come to the
		// engines once.
		if old.tx == e.tx && old.isFree(at) == e.isFree(at) {
			return // it was read before
		}
		q.remove(c.ID)
	}
	if old == nil && e.playable() && c.SeenAt.IsZero() {
		q.unrecorded = append(q.unrecorded, unrecorded{e.id, e.seenAt})
	}
	q.entries[c.ID] = e
	q.index.add(e)
	q.heldBytes += e.bytes()
	switch {
	case e.isFree(at):
		q.listener.ticketFree(e)
	case !e.paused:
		q.inMatches[c.ID] = e
		q.soonest(e.pendingUntil)
	}
}

func (q *queue) remove(id string) {
	e := q.entries[id]
	if e == nil {
		return
	}
	q.heldBytes -= e.bytes()
	delete(q.entries, id) // first: matches that need the ticket are dropped, and their tickets looked up
	delete(q.inMatches, id)
	q.index.remove(e)
	q.listener.ticketGone(e)
}

// bar makes a ticket no candidate, until another version of it is read.
func (q *queue) bar(id string) {
	e := q.entries[id]
	if e == nil {
		return
	}
	q.remove(id)
	// Without a body no profile takes it. The version stays, so that reading the same one again changes nothing.
	barred := &entry{id: e.id, created: e.created, tx: e.tx, seenAt: e.seenAt}
	q.entries[id] = barred
	q.heldBytes += barred.bytes()
}

// freeOverdue frees tickets of matches that were neither assigned nor released in time. It is called at each step, so
// it reads the pending tickets only when the time of one has passed.
func (q *queue) freeOverdue() {
	if q.nextOverdueAt.IsZero() {
		return
	}
	now := q.listener.moment()
	if q.nextOverdueAt.After(now) {
		return
	}
	// Computed anew from those that are still in a match.
	q.nextOverdueAt = time.Time{}
	for id, e := range q.inMatches {
		if e.isFree(now) {
			delete(q.inMatches, id)
			q.listener.ticketFree(e)
		} else {
			q.soonest(e.pendingUntil)
		}
	}
}

// soonest remembers when a ticket is free again.
func (q *queue) soonest(at time.Time) {
	if q.nextOverdueAt.IsZero() || at.Before(q.nextOverdueAt) {
		q.nextOverdueAt = at
	}
}

// freeVersions returns the versions of those of the tickets that are candidates.
func (q *queue) freeVersions(ids []string) map[string]uint64 {
	free, now := map[string]uint64{}, q.listener.moment()
	for _, id := range ids {
		if e := q.entries[id]; e != nil && e.playable() && e.isFree(now) {
			free[id] = e.tx
		}
	}
	return free
}

// refreshPage bounds the tickets that one call of refresh reads.
const refreshPage = 1000

// refresh reads tickets that turned out to be other than this worker knew.
func (q *queue) refresh(ctx context.Context, ids []string) error {
	var found []db.Candidate
	err := reading(ctx, "reading tickets by their ids", func(ctx context.Context) (err error) {
		found, err = q.store.Candidates(ctx, q.universe, ids)
		return err
	})
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(found))
	at := q.listener.moment()
	for _, c := range found {
		there[c.ID] = true
		if old := q.entries[c.ID]; old != nil {
			if old.tx == c.Tx && old.isFree(at) && c.IsFree(at) {
				continue // it is as it was: its match is given back
			}
			c.SeenAt = old.seenAt
		}
		q.remove(c.ID) // so that put tells of it even if nothing but a mark changed
		q.put(c, at)
	}
	for _, id := range ids {
		if !there[id] {
			q.announceLeft(id)
			q.remove(id)
		}
	}
	return nil
}

// ticketFree implements listener: the ticket is a candidate of each profile that takes it.
func (l *Loop) ticketFree(e *entry) {
	c := change{moment: l.lastMoment, kind: candidatesCame, entries: []*entry{e}}
	for p := range l.takers(e) {
		l.learn(p, c)
		p.shadow.learn(c)
	}
}

// ticketGone implements listener: the ticket is no candidate any more, and matches that need it are decided anew.
func (l *Loop) ticketGone(e *entry) {
	l.leaves(e)
	delete(l.refusalsBySeed, e.id)
	l.waiting.drop(l, e.id)
}

// leaves takes a ticket from the candidates of every profile.
func (l *Loop) leaves(e *entry) {
	c := change{moment: l.lastMoment, kind: candidatesLeft, ids: []string{e.id}}
	for p := range l.takers(e) {
		l.learn(p, c)
		p.shadow.learn(c)
	}
}

// takers are the profiles of this worker that may take a ticket.
func (l *Loop) takers(e *entry) iter.Seq[*owned] {
	return func(yield func(*owned) bool) {
		if !e.playable() {
			return
		}
		if len(e.profiles) == 0 {
			for _, p := range l.inOrder() {
				if p.hasPool() && !yield(p) {
					return
				}
			}
		}
		for _, name := range e.profiles {
			if p := l.profiles[name]; p != nil && !yield(p) {
				return
			}
		}
	}
}
