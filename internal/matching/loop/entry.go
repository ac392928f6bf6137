package loop

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

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
	lastTx       uint64
	isPaused     bool
	pendingUntil time.Time // it is in a match until then; zero: in none
	readyCheck   uuid.UUID // the match of ours that it is in
	seenAt       time.Time // when a worker first had it, if that is recorded, else this one

	askedProfiles []string // that the ticket asks for; none: each whose pool holds it
	decodedOnce   atomic.Pointer[match.Ticket]
}

func newEntry(c db.Candidate, seen time.Time, playerArg string) *entry {
	e := &entry{id: c.TicketID, createdAt: c.CreatedAt, lastTx: c.ChangedTx, isPaused: c.IsPaused,
		pendingUntil: c.PendingUntil,
		readyCheck:   c.ReadyCheck, seenAt: seen}
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

// decodedTicket returns the decoded ticket: the same to all callers, so that it is decoded once and that its address
// identifies this version of it. It is safe for concurrent use. Errors: those of [ticketbody.Decode].
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

// index finds the tickets that a profile may take, so that a worker that takes a profile over looks at no others.
type index struct {
	byProfile      map[string]map[*entry]struct{} // by the profile that they ask for
	withoutProfile map[*entry]struct{}            // those that ask for no profile: profiles with a pool may take them
}

func newIndex() index {
	return index{byProfile: map[string]map[*entry]struct{}{}, withoutProfile: map[*entry]struct{}{}}
}

func (x *index) addEntry(e *entry) {
	if !e.isPlayable() {
		return
	}
	if len(e.askedProfiles) == 0 {
		x.withoutProfile[e] = struct{}{}
	}
	for _, name := range e.askedProfiles {
		if x.byProfile[name] == nil {
			x.byProfile[name] = map[*entry]struct{}{}
		}
		x.byProfile[name][e] = struct{}{}
	}
}

func (x *index) removeEntry(e *entry) {
	delete(x.withoutProfile, e)
	for _, name := range e.askedProfiles {
		delete(x.byProfile[name], e)
		if len(x.byProfile[name]) == 0 {
			delete(x.byProfile, name)
		}
	}
}

// countAsking returns how many tickets ask for a profile.
func (x *index) countAsking(profile string) int { return len(x.byProfile[profile]) }

// entriesOf returns the tickets that a profile may take, in the order of the queue.
func (x *index) entriesOf(profile string, hasPool bool) []*entry {
	all := make([]*entry, 0, len(x.byProfile[profile]))
	for e := range x.byProfile[profile] {
		all = append(all, e)
	}
	if hasPool {
		for e := range x.withoutProfile {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(a.createdAt.Compare(b.createdAt),
			cmp.Compare(a.id, b.id))
	})
	return all
}
