package loop

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// entry is what this worker keeps of a ticket, some 400 bytes. Its body is decoded anew where it is needed.
type entry struct {
	id           string
	created      time.Time
	body         []byte
	tx           uint64
	paused       bool
	pendingUntil time.Time // it is in a match until then; zero: in none
	readyCheck   uuid.UUID // the match of ours that it is in
	seen         time.Time // when this worker first had it
}

func newEntry(c db.Candidate, seen time.Time) *entry {
	return &entry{
		id: c.ID, created: c.Created, body: c.Body, tx: c.Tx, paused: c.Paused, pendingUntil: c.PendingUntil, readyCheck: c.ReadyCheck, seen: seen,
	}
}

func (e *entry) free(now time.Time) bool { return !e.paused && !e.pendingUntil.After(now) }

// listener learns of changes of the queue.
type listener interface {
	ticketFree(e *entry)
	ticketGone(id string)
}

// queue is the queue of a universe as this worker knows it. It reads everything once and then what changes. The changes since
// a moment are those that a snapshot of then does not see, whatever the order in which transactions commit, and nothing is read
// again behind a transaction that stays open.
type queue struct {
	store    Store
	universe string
	limit    int
	to       listener

	entries map[string]*entry
	pending map[string]*entry // those in a match; they are free again when its time has passed
	partial bool              // tickets were left out because of limit
	changes db.SettledPoint
	settled db.SettledPoint
}

func newQueue(store Store, universe string, limit int, to listener) *queue {
	return &queue{store: store, universe: universe, limit: limit, to: to, entries: map[string]*entry{}, pending: map[string]*entry{}}
}

func (q *queue) len() int { return len(q.entries) }

// load reads the whole queue. What changes meanwhile is read by the first call of follow.
func (q *queue) load(ctx context.Context) (err error) {
	if q.changes, err = q.store.BeginCandidates(ctx); err != nil {
		return err
	}
	settled, err := q.store.SettledSince(ctx, q.universe, db.SettledPoint{})
	if err != nil {
		return err
	}
	q.settled = settled.Next
	after := ""
	for full := true; full; {
		var page []db.Candidate
		if page, full, err = q.store.CandidatesAfter(ctx, q.universe, after); err != nil {
			return err
		}
		for _, c := range page {
			q.put(c)
			after = c.ID
		}
	}
	return nil
}

// follow reads what changed since the last reading.
func (q *queue) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for more := true; more; {
		page, err := q.store.CandidatesSince(ctx, q.universe, q.changes)
		if err != nil {
			return err
		}
		if page.ServerChanged {
			return errAnew
		}
		for _, c := range page.Candidates {
			q.put(c)
		}
		q.changes, more = page.Next, page.More
	}
	for more := true; more; {
		page, err := q.store.SettledSince(ctx, q.universe, q.settled)
		if err != nil {
			return err
		}
		if page.ServerChanged {
			return errAnew
		}
		for _, s := range page.Settled {
			q.remove(s.ID)
		}
		q.settled, more = page.Next, page.More
	}
	q.freeOverdue()
	return nil
}

// put takes over what was read of a ticket.
func (q *queue) put(c db.Candidate) {
	old := q.entries[c.ID]
	if old == nil && len(q.entries) >= q.limit {
		q.partial = true
		return
	}
	e := newEntry(c, q.store.Now())
	if old != nil {
		e.seen = old.seen
		if old.tx == e.tx && old.free(e.seen) == e.free(e.seen) {
			return // it was read before
		}
		q.to.ticketGone(c.ID)
	}
	q.entries[c.ID] = e
	delete(q.pending, c.ID)
	switch {
	case e.free(e.seen):
		q.to.ticketFree(e)
	case !e.paused:
		q.pending[c.ID] = e
	}
}

func (q *queue) remove(id string) {
	if q.entries[id] == nil {
		return
	}
	delete(q.entries, id)
	delete(q.pending, id)
	q.to.ticketGone(id)
}

// freeOverdue frees tickets of matches that were neither assigned nor released in time.
func (q *queue) freeOverdue() {
	now := q.store.Now()
	for id, e := range q.pending {
		if e.free(now) {
			delete(q.pending, id)
			q.to.ticketFree(e)
		}
	}
}

// refresh reads tickets that turned out to be other than this worker knew.
func (q *queue) refresh(ctx context.Context, ids []string) error {
	found, err := q.store.Candidates(ctx, q.universe, ids)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(found))
	for _, c := range found {
		there[c.ID] = true
		q.forget(c.ID) // so that put tells of it even if nothing but a mark changed
		q.put(c)
	}
	for _, id := range ids {
		if !there[id] {
			q.remove(id)
		}
	}
	return nil
}

func (q *queue) forget(id string) {
	if e := q.entries[id]; e != nil {
		q.to.ticketGone(id)
		delete(q.entries, id)
		delete(q.pending, id)
	}
}

// reconcile compares the whole queue with the database: an older release changes tickets without a new tx, and a limit may
// have left some out.
func (q *queue) reconcile(ctx context.Context) error {
	known := make(map[string]bool, len(q.entries))
	var differ []string
	after := ""
	for full := true; full; {
		page, more, err := q.store.CandidateIDsAfter(ctx, q.universe, after)
		if err != nil {
			return err
		}
		full = more
		for _, r := range page {
			after = r.ID
			known[r.ID] = true
			if e := q.entries[r.ID]; e == nil && len(q.entries)+len(differ) < q.limit || e != nil && e.tx != r.Tx {
				differ = append(differ, r.ID)
			}
		}
	}
	for id := range q.entries {
		if !known[id] {
			q.remove(id)
		}
	}
	q.partial = len(known) > q.limit
	for len(differ) > 0 {
		n := min(len(differ), 1000)
		if err := q.refresh(ctx, differ[:n]); err != nil {
			return err
		}
		differ = differ[n:]
	}
	return nil
}

// ticketFree implements listener: the ticket is a candidate of each profile that takes it.
func (l *Loop) ticketFree(e *entry) {
	t, err := l.decode(e)
	if err != nil {
		l.Log.Debug("a ticket cannot be decoded", slog.String("ticket_id", e.id), slog.Any("error", err))
		return
	}
	for _, p := range l.profiles {
		p.engine.Add(t)
	}
}

// ticketGone implements listener: the ticket is no candidate any more, and matches that need it are decided anew.
func (l *Loop) ticketGone(id string) {
	for _, p := range l.profiles {
		p.engine.Remove(id)
	}
	delete(l.bad, id)
	l.waiting.drop(l, id)
}
