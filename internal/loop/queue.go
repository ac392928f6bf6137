package loop

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// entry is what this worker keeps of a ticket, some 400 bytes and its body.
type entry struct {
	id           string
	created      time.Time
	body         []byte // decoded anew where it is needed; nil if no profile can take the ticket
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

// entryBytes is about what an entry takes without its body.
const entryBytes = 400

func (e *entry) bytes() int { return entryBytes + len(e.body) }

// listener learns of changes of the queue.
type listener interface {
	// moment returns the time, never before that of an earlier call.
	moment() time.Time
	// before decides what is due before the changes of a moment.
	before(ctx context.Context, at time.Time)
	ticketFree(e *entry)
	ticketGone(id string)
}

// queue is the queue of a universe as this worker knows it. It reads everything once and then what changes. The changes since
// a moment are those that a snapshot of then does not see, whatever the order in which transactions commit, and nothing is read
// again behind a transaction that stays open.
type queue struct {
	store    Store
	universe string
	limit    limit
	to       listener
	loaded   bool // load has read the queue

	entries map[string]*entry
	bytes   int               // of the entries
	pending map[string]*entry // those in a match; they are free again when its time has passed
	overdue time.Time         // the earliest of these times, or an earlier one; zero: none is pending
	changes db.SettledPoint
	settled db.SettledPoint
}

// limit bounds the tickets in memory.
type limit struct{ tickets, bytes int }

func newQueue(store Store, universe string, limit limit, to listener) *queue {
	return &queue{store: store, universe: universe, limit: limit, to: to, entries: map[string]*entry{}, pending: map[string]*entry{}}
}

func (q *queue) len() int { return len(q.entries) }

// full reports whether there is no place for another ticket beside so many that will be added.
func (q *queue) full(added int) bool {
	return len(q.entries)+added >= q.limit.tickets || q.bytes+added*entryBytes >= q.limit.bytes
}

// load reads the whole queue. What changes meanwhile is read by the first call of follow.
func (q *queue) load(ctx context.Context) (err error) {
	if q.changes, err = q.store.FeedEnd(ctx); err != nil {
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
		at := q.to.moment()
		for _, c := range page {
			q.put(c, at)
			after = c.ID
		}
	}
	q.loaded = true
	return nil
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
		q.putPage(ctx, page.Candidates)
		q.changes, more = page.Next, page.More
	}
	for more := true; more; {
		page, err := q.left(ctx)
		if err != nil {
			return err
		}
		if page.ServerChanged {
			return errRestarted
		}
		for _, s := range page.Settled {
			q.remove(s.ID)
		}
		q.settled, more = page.Next, page.More
	}
	q.freeOverdue()
	return nil
}

// changed reads a page of what changed. Each reading has its own time: the decisions between two pages may take long.
func (q *queue) changed(ctx context.Context) (db.CandidatePage, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return q.store.CandidatesSince(ctx, q.universe, q.changes)
}

// left reads a page of what left the queue.
func (q *queue) left(ctx context.Context) (db.SettledPage, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return q.store.SettledSince(ctx, q.universe, q.settled)
}

// putPage adds the tickets of one page. They have one moment, at which the next decision is made, and an order that
// depends only on them, so that a replay of the history makes the same decisions.
func (q *queue) putPage(ctx context.Context, page []db.Candidate) {
	if len(page) == 0 {
		return
	}
	at := q.to.moment()
	q.to.before(ctx, at)
	slices.SortFunc(page, func(a, b db.Candidate) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	for _, c := range page {
		q.put(c, at)
	}
}

// put adds a ticket that was read at a moment.
func (q *queue) put(c db.Candidate, at time.Time) {
	old := q.entries[c.ID]
	if old == nil && q.full(0) {
		return
	}
	e := newEntry(c, at)
	if old != nil {
		e.seen = old.seen
		if old.tx == e.tx && old.free(at) == e.free(at) {
			return // it was read before
		}
		q.remove(c.ID)
	}
	q.entries[c.ID] = e
	q.bytes += e.bytes()
	switch {
	case e.free(at):
		q.to.ticketFree(e)
	case !e.paused:
		q.pending[c.ID] = e
		q.soonest(e.pendingUntil)
	}
}

func (q *queue) remove(id string) {
	e := q.entries[id]
	if e == nil {
		return
	}
	q.bytes -= e.bytes()
	delete(q.entries, id) // first: matches that need the ticket are dropped, and their tickets looked up
	delete(q.pending, id)
	q.to.ticketGone(id)
}

// freeOverdue frees tickets of matches that were neither assigned nor released in time. It is called at each step, so it reads the
// pending tickets only when the time of one has passed.
func (q *queue) freeOverdue() {
	if q.overdue.IsZero() {
		return
	}
	now := q.to.moment()
	if q.overdue.After(now) {
		return
	}
	q.overdue = time.Time{}
	for id, e := range q.pending {
		if e.free(now) {
			delete(q.pending, id)
			q.to.ticketFree(e)
		} else {
			q.soonest(e.pendingUntil)
		}
	}
}

// soonest remembers when a ticket is free again.
func (q *queue) soonest(at time.Time) {
	if q.overdue.IsZero() || at.Before(q.overdue) {
		q.overdue = at
	}
}

// refreshPage bounds the tickets that one call of refresh reads.
const refreshPage = 1000

// refresh reads tickets that turned out to be other than this worker knew.
func (q *queue) refresh(ctx context.Context, ids []string) error {
	found, err := q.store.Candidates(ctx, q.universe, ids)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(found))
	at := q.to.moment()
	for _, c := range found {
		there[c.ID] = true
		q.remove(c.ID) // so that put tells of it even if nothing but a mark changed
		q.put(c, at)
	}
	for _, id := range ids {
		if !there[id] {
			q.remove(id)
		}
	}
	return nil
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
			if e := q.entries[r.ID]; e == nil && !q.full(len(differ)) || e != nil && e.tx != r.Tx {
				differ = append(differ, r.ID)
			}
		}
	}
	for id := range q.entries {
		if !known[id] {
			q.remove(id)
		}
	}
	for page := range slices.Chunk(differ, refreshPage) {
		if err := q.refresh(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// forgetBody frees the memory of the body of a ticket that no profile can take.
func (q *queue) forgetBody(e *entry) {
	q.bytes -= len(e.body)
	e.body = nil
}

// ticketFree implements listener: the ticket is a candidate of each profile that takes it.
func (l *Loop) ticketFree(e *entry) {
	t, err := l.decode(e)
	if err != nil {
		l.Log.Debug("a ticket cannot be decoded", slog.String("ticket_id", e.id), slog.Any("error", err))
	}
	if err != nil || len(t.Players) == 0 { // most tickets of Open Match name no player
		l.queue.forgetBody(e)
		return
	}
	for _, p := range l.profiles {
		p.addTicket(t)
		p.wake(l.now)
	}
}

// ticketGone implements listener: the ticket is no candidate any more, and matches that need it are decided anew.
func (l *Loop) ticketGone(id string) {
	for _, p := range l.profiles {
		p.removeTicket(id)
	}
	delete(l.bad, id)
	l.waiting.drop(l, id)
}
