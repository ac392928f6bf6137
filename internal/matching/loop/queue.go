package loop

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
)

var errRestarted = errors.New("Postgres was restarted or replaced: the queue is read again")

// listener learns of changes of the queue.
type listener interface {
	// currentMoment returns the time, never before that of an earlier call.
	currentMoment() time.Time
	ticketFree(e *entry)
	ticketGone(e *entry)
	ticketLeft(e *entry) // before ticketGone: it left the queue, as far as is known without a match
}

// queue is the queue of a universe as this worker knows it. It reads everything once and then what changes. The changes
// since a moment are those that a snapshot of then does not see, whatever the order in which transactions commit, and
// nothing is read again behind a transaction that stays open.
type queue struct {
	store       Store
	universe    string
	playerArg   string
	memoryLimit limit
	listener    listener

	entryByID     map[string]*entry
	byProfile     index
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
type limit struct{ maxTickets, maxBytes int }

func newQueue(o Options, to listener) *queue {
	return &queue{
		store: o.Store, universe: o.Universe, playerArg: o.PlayerArg, memoryLimit: limit{o.MaxCandidates, o.Memory},
		listener:  to,
		entryByID: map[string]*entry{}, byProfile: newIndex(), inMatches: map[string]*entry{},
	}
}

func (q *queue) len() int { return len(q.entryByID) }

// isFull reports whether there is no place for another ticket beside so many that will be added.
func (q *queue) isFull(added int) bool {
	return len(q.entryByID)+added >= q.memoryLimit.maxTickets || q.heldBytes+added*entryBytes >= q.memoryLimit.maxBytes
}

// putPage adds the tickets of one page. They have one moment, at which the next decision is made, and an order that
// depends only on them, so that a replay of the history makes the same decisions.
func (q *queue) putPage(page []db.Candidate) {
	if len(page) == 0 {
		return
	}
	at := q.listener.currentMoment()
	slices.SortFunc(page, func(a, b db.Candidate) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt),
			cmp.Compare(a.TicketID, b.TicketID))
	})
	for _, c := range page {
		q.putTicket(c, at)
	}
}

// putTicket adds a ticket that was read at a moment.
func (q *queue) putTicket(c db.Candidate, at time.Time) {
	old := q.entryByID[c.TicketID]
	// The oldest stay: a ticket for which there is no place is found by a later comparison.
	if old == nil && q.isFull(0) {
		return
	}
	e := newEntry(c, at, q.playerArg)
	if old != nil {
		e.seenAt = old.seenAt
		// The same version as before, and as free: pages and changes overlap, and each ticket must come to the
		// engines once.
		if old.lastTx == e.lastTx && old.isFree(at) == e.isFree(at) {
			return // it was read before
		}
		q.removeTicket(c.TicketID)
	}
	// A SeenAt is in the database already. A ticket that this worker had before keeps its first one.
	if old == nil && e.isPlayable() && c.SeenAt.IsZero() {
		q.unrecorded = append(q.unrecorded, unrecorded{e.id, e.seenAt})
	}
	q.entryByID[c.TicketID] = e
	q.byProfile.addEntry(e)
	q.heldBytes += e.memoryBytes()
	switch {
	case e.isFree(at):
		q.listener.ticketFree(e)
	// A paused ticket is in no match: it becomes free with another version of it, at a time that is not known.
	case !e.isPaused:
		q.inMatches[c.TicketID] = e
		q.noteOverdue(e.pendingUntil)
	}
}

func (q *queue) removeTicket(id string) {
	e := q.entryByID[id]
	if e == nil {
		return
	}
	q.heldBytes -= e.memoryBytes()
	// Before ticketGone, which gives the tickets of a waiting match back: this one must not be found then.
	delete(q.entryByID, id)
	delete(q.inMatches, id)
	q.byProfile.removeEntry(e)
	q.listener.ticketGone(e)
}

// barTicket makes a ticket no candidate, until another version of it is read.
func (q *queue) barTicket(id string) {
	e := q.entryByID[id]
	if e == nil {
		return
	}
	q.removeTicket(id)
	// Without a body no profile takes it. The version stays, so that reading the same one again changes nothing.
	barred := &entry{id: e.id, createdAt: e.createdAt, lastTx: e.lastTx, seenAt: e.seenAt}
	q.entryByID[id] = barred
	q.heldBytes += barred.memoryBytes()
}

// freeOverdue frees tickets of matches that were neither assigned nor released in time. It is called at each step, so
// it reads the pending tickets only when the time of one has passed.
func (q *queue) freeOverdue() {
	if q.nextOverdueAt.IsZero() {
		return
	}
	now := q.listener.currentMoment()
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
			q.noteOverdue(e.pendingUntil)
		}
	}
}

// noteOverdue remembers when a ticket is free again.
func (q *queue) noteOverdue(at time.Time) {
	if q.nextOverdueAt.IsZero() || at.Before(q.nextOverdueAt) {
		q.nextOverdueAt = at
	}
}

// freeVersions returns the versions of those of the tickets that are candidates.
func (q *queue) freeVersions(ids []string) map[string]uint64 {
	free, now := map[string]uint64{}, q.listener.currentMoment()
	for _, id := range ids {
		if e := q.entryByID[id]; e != nil && e.isPlayable() && e.isFree(now) {
			free[id] = e.lastTx
		}
	}
	return free
}

// refreshPage bounds the tickets that one call of refreshTickets reads.
const refreshPage = 1000

// refreshTickets reads tickets that turned out to be other than this worker knew.
func (q *queue) refreshTickets(ctx context.Context, ids []string) error {
	var found []db.Candidate
	err := callDatabase(ctx, "reading tickets by their ids", func(ctx context.Context) (err error) {
		found, err = q.store.Candidates(ctx, q.universe, ids)
		return err
	})
	if err != nil {
		return err
	}
	stillQueued := make(map[string]bool, len(found))
	at := q.listener.currentMoment()
	for _, c := range found {
		stillQueued[c.TicketID] = true
		if old := q.entryByID[c.TicketID]; old != nil {
			if old.lastTx == c.ChangedTx && old.isFree(at) && c.IsFree(at) {
				continue // it is as it was: its match is given back
			}
			c.SeenAt = old.seenAt
		}
		q.removeTicket(c.TicketID) // putTicket ignores a version that it knows, even if its mark has changed
		q.putTicket(c, at)
	}
	for _, id := range ids {
		if !stillQueued[id] {
			q.announceLeft(id)
			q.removeTicket(id)
		}
	}
	return nil
}

// unrecorded is a ticket of which the database does not say when a worker first saw it.
type unrecorded struct {
	id     string
	seenAt time.Time
}

// announceLeft announces that a ticket has left the queue, as far as is known without a match. The caller removes it.
func (q *queue) announceLeft(id string) {
	if e := q.entryByID[id]; e != nil {
		q.listener.ticketLeft(e)
	}
}

// comparison compares the whole queue with the database, a page at a time: an older release changes tickets without a
// new tx, and a limit may have left some out.
type comparison struct {
	beganAt     time.Time // zero: none is under way
	lastID      string    // the last ticket that was compared
	comparedIDs map[string]bool

	leftOut int // tickets that are not in memory, since it is full
}
