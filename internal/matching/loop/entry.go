package loop

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
)

// entry is what this worker keeps of a ticket, some 400 bytes and its body, and the decoded ticket once a profile has looked at it.
type entry struct {
	id           string
	created      time.Time
	body         []byte // nil if no profile can take the ticket
	tx           uint64
	paused       bool
	pendingUntil time.Time // it is in a match until then; zero: in none
	readyCheck   uuid.UUID // the match of ours that it is in
	seen         time.Time // when a worker first had it, if that is recorded, else this one

	profiles []string // that the ticket asks for; none: each whose pool holds it
	decoded  atomic.Pointer[match.Ticket]
}

func newEntry(c db.Candidate, seen time.Time, playerArg string) *entry {
	e := &entry{id: c.ID, created: c.Created, tx: c.Tx, paused: c.Paused, pendingUntil: c.PendingUntil, readyCheck: c.ReadyCheck, seen: seen}
	if !c.SeenAt.IsZero() {
		e.seen = c.SeenAt
	}
	if profiles, players := ticketbody.Requested(c.Body, playerArg); players { // most tickets of Open Match name no player
		slices.Sort(profiles)
		e.profiles, e.body = slices.Compact(profiles), c.Body
	}
	return e
}

func (e *entry) free(now time.Time) bool { return !e.paused && !e.pendingUntil.After(now) }

// playable reports whether a profile may take the ticket.
func (e *entry) playable() bool { return e.body != nil }

// ticket returns the decoded ticket: the same to all callers, so that it is decoded once and that its address identifies this version
// of it. It is safe for concurrent use. Errors: those of [ticketbody.Decode].
func (e *entry) ticket(playerArg string) (*match.Ticket, error) {
	if t := e.decoded.Load(); t != nil {
		return t, nil
	}
	t, err := ticketbody.Decode(e.id, e.created, e.body, playerArg)
	if err != nil {
		return nil, err
	}
	e.decoded.CompareAndSwap(nil, t)
	return e.decoded.Load(), nil
}

// entryBytes is about what an entry takes without its body.
const entryBytes = 400

func (e *entry) bytes() int { return entryBytes + len(e.body) }
