package loop

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
)

// entry is what this worker keeps of a ticket, some 400 bytes and its body, and the decoded ticket once a profile has
// looked at it.
type entry struct {
	id           string
	createdAt    time.Time
	body         []byte // nil if no profile can take the ticket
	lastTx       uint64 // the transaction that changed it last
	isPaused     bool
	pendingUntil time.Time // it is in a match until then; zero: in none
	seenAt       time.Time // when a worker first had it, if that is recorded, else when this one had it

	askedProfiles []string                     // that the ticket asks for; none: each whose pool holds it
	decodedOnce   atomic.Pointer[match.Ticket] // nil until decodedTicket is called
}

// newEntry makes the entry of a ticket that this worker read at seenAt.
func newEntry(c db.Candidate, seenAt time.Time, playerArg string) *entry {
	e := &entry{id: c.TicketID, createdAt: c.CreatedAt, lastTx: c.ChangedTx, isPaused: c.IsPaused,
		pendingUntil: c.PendingUntil, seenAt: seenAt}
	if !c.SeenAt.IsZero() {
		e.seenAt = c.SeenAt
	}
	// Most tickets of Open Match name no player: no profile can take them, and their bodies are not kept.
	if profiles, hasPlayers := ticketbody.Requested(c.Body, playerArg); hasPlayers {
		slices.Sort(profiles)
		e.askedProfiles, e.body = slices.Compact(profiles), c.Body
	}
	return e
}

func (e *entry) isFree(now time.Time) bool {
	return db.Candidate{IsPaused: e.isPaused, PendingUntil: e.pendingUntil}.IsFree(now)
}

// isPlayable reports whether a profile may take the ticket.
func (e *entry) isPlayable() bool { return e.body != nil }

// decodedTicket returns the decoded ticket: all callers get the same pointer, which identifies this version of the
// ticket. It is safe for concurrent use. Errors: those of [ticketbody.Decode].
func (e *entry) decodedTicket(playerArg string) (*match.Ticket, error) {
	if t := e.decodedOnce.Load(); t != nil {
		return t, nil
	}
	t, err := ticketbody.Decode(e.id, e.createdAt, e.body, playerArg)
	if err != nil {
		return nil, err
	}
	e.decodedOnce.CompareAndSwap(nil, t) // if another goroutine was faster, its ticket is everybody's
	return e.decodedOnce.Load(), nil
}

// entryBytes is about what an entry takes without its body.
const entryBytes = 400

func (e *entry) memoryBytes() int { return entryBytes + len(e.body) }
