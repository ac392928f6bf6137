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
	created      time.Time
	body         []byte // nil if no profile can take the ticket
	tx           uint64
	paused       bool
	pendingUntil time.Time // it is in a match until then; zero: in none
	readyCheck   uuid.UUID // the match of ours that it is in
	seenAt       time.Time // when a worker first had it, if that is recorded, else this one

	profiles []string // that the ticket asks for; none: each whose pool holds it
	decoded  atomic.Pointer[match.Ticket]
}

func newEntry(c db.Candidate, seen time.Time, playerArg string) *entry {
	e := &entry{id: c.ID, created: c.Created, tx: c.Tx, paused: c.Paused, pendingUntil: c.PendingUntil,
		readyCheck: c.ReadyCheck, seenAt: seen}
	if !c.SeenAt.IsZero() {
		e.seenAt = c.SeenAt
	}
	if profiles, players := ticketbody.Requested(c.Body,
		playerArg); players { // most tickets of Open Match name no player
		slices.Sort(profiles)
		e.profiles, e.body = slices.Compact(profiles), c.Body
	}
	return e
}

func (e *entry) isFree(now time.Time) bool {
	return db.Candidate{Paused: e.paused, PendingUntil: e.pendingUntil}.IsFree(now)
}

// playable reports whether a profile may take the ticket.
func (e *entry) playable() bool { return e.body != nil }

// ticket returns the decoded ticket: the same to all callers, so that it is decoded once and that its address
// identifies this version of it. It is safe for concurrent use. Errors: those of [ticketbody.Decode].
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

// index finds the tickets that a profile may take, so that a worker that takes a profile over looks at no others.
type index struct {
	asking map[string]map[*entry]struct{} // by the profile that they ask for
	any    map[*entry]struct{}            // those that ask for no profile: profiles with a pool may take them
}

func newIndex() index {
	return index{asking: map[string]map[*entry]struct{}{}, any: map[*entry]struct{}{}}
}

func (x *index) add(e *entry) {
	if !e.playable() {
		return
	}
	if len(e.profiles) == 0 {
		x.any[e] = struct{}{}
	}
	for _, name := range e.profiles {
		if x.asking[name] == nil {
			x.asking[name] = map[*entry]struct{}{}
		}
		x.asking[name][e] = struct{}{}
	}
}

func (x *index) remove(e *entry) {
	delete(x.any, e)
	for _, name := range e.profiles {
		delete(x.asking[name], e)
		if len(x.asking[name]) == 0 {
			delete(x.asking, name)
		}
	}
}

// count returns how many tickets ask for a profile.
func (x *index) count(profile string) int { return len(x.asking[profile]) }

// entriesOf returns the tickets that a profile may take, in the order of the queue.
func (x *index) entriesOf(profile string, hasPool bool) []*entry {
	all := make([]*entry, 0, len(x.asking[profile]))
	for e := range x.asking[profile] {
		all = append(all, e)
	}
	if hasPool {
		for e := range x.any {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.id, b.id)) })
	return all
}
