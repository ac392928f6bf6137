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
	heldBytes     int                // of the entries
	inMatches     map[string]*entry  // free again when the time of their match has passed
	nextOverdueAt time.Time          // no later than the earliest of these times; zero: none is in a match
	unrecorded    []unrecordedTicket // oldest first

	// Following changes.
	followsChanges bool         // from changesPoint and settledPoint on
	changesPoint   db.FeedPoint // up to which the tickets that came or changed were read
	settledPoint   db.FeedPoint // up to which the tickets that left were read

	// Reading everything.
	isFullyRead bool       // the tickets that waited when changes were first followed are in memory, or it is full
	lastReadID  string     // the last ticket of the pages that were read
	nextPage    *pageAhead // the page that is being read; nil: none
	comparison  comparison
	leftOut     int // tickets of the queue for which the last comparison found no place in memory
}

// limit bounds the tickets in memory.
type limit struct{ maxTickets, maxBytes int }

// unrecordedTicket is a ticket for which the database does not record when a worker first saw it.
type unrecordedTicket struct {
	id     string
	seenAt time.Time
}

func newQueue(o Options, to listener) *queue {
	return &queue{
		store: o.Store, universe: o.Universe, playerArg: o.PlayerArg, memoryLimit: limit{o.MaxCandidates, o.Memory},
		listener:  to,
		entryByID: map[string]*entry{}, byProfile: newIndex(), inMatches: map[string]*entry{},
	}
}

func (q *queue) len() int { return len(q.entryByID) }

// isFull reports whether memory has no place for another ticket after so many are added.
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
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.TicketID, b.TicketID))
	})
	for _, c := range page {
		q.putTicket(c, at)
	}
}

// putTicket adds a ticket that was read at a moment, or replaces its earlier version.
func (q *queue) putTicket(c db.Candidate, at time.Time) {
	old := q.entryByID[c.TicketID]
	// The oldest stay: a ticket for which there is no place is found by a later comparison.
	if old == nil && q.isFull(0) {
		return
	}
	e := newEntry(c, at, q.playerArg)
	if old != nil {
		e.seenAt = old.seenAt
		// Pages and changes overlap, and the engines must get each version of a ticket once.
		if old.lastTx == e.lastTx && old.isFree(at) == e.isFree(at) {
			return
		}
		q.removeTicket(c.TicketID)
	}
	// With a SeenAt, the database has it already.
	if old == nil && e.isPlayable() && c.SeenAt.IsZero() {
		q.unrecorded = append(q.unrecorded, unrecordedTicket{e.id, e.seenAt})
	}
	q.entryByID[c.TicketID] = e
	q.byProfile.addEntry(e)
	q.heldBytes += e.memoryBytes()
	switch {
	case e.isFree(at):
		q.listener.ticketFree(e)
	// A paused ticket is in no match: it becomes free with another version of the ticket, at a time that is not known.
	case !e.isPaused:
		q.inMatches[c.TicketID] = e
		q.noteOverdue(e.pendingUntil)
	}
}

// removeTicket forgets a ticket, if it is known.
func (q *queue) removeTicket(id string) {
	e := q.entryByID[id]
	if e == nil {
		return
	}
	q.heldBytes -= e.memoryBytes()
	// Deleted before ticketGone, which gives back the tickets of a waiting match that are still in entryByID.
	delete(q.entryByID, id)
	delete(q.inMatches, id)
	q.byProfile.removeEntry(e)
	q.listener.ticketGone(e)
}

// barTicket makes sure that a ticket is no candidate until another version of it is read.
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

// freeOverdue makes tickets candidates whose match neither assigned nor released them in time. It is called each time
// that changes are read, so it looks at inMatches only when the time of a ticket may have passed.
func (q *queue) freeOverdue() {
	if q.nextOverdueAt.IsZero() {
		return
	}
	now := q.listener.currentMoment()
	if q.nextOverdueAt.After(now) {
		return
	}
	q.nextOverdueAt = time.Time{} // noteOverdue computes it anew from the tickets that are still in a match
	for id, e := range q.inMatches {
		if e.isFree(now) {
			delete(q.inMatches, id)
			q.listener.ticketFree(e)
		} else {
			q.noteOverdue(e.pendingUntil)
		}
	}
}

// noteOverdue makes nextOverdueAt no later than when a ticket is free again.
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

// refreshPage bounds the tickets that are read by their ids at a time.
const refreshPage = 1000

// refreshTickets reads tickets that turned out to be other than this worker knew, and replaces what it knows of them.
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
				continue // unchanged: whoever gives its match back makes it a candidate
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

// announceLeft announces that a ticket has left the queue, as far as is known without a match. The caller removes it.
func (q *queue) announceLeft(id string) {
	if e := q.entryByID[id]; e != nil {
		q.listener.ticketLeft(e)
	}
}
