package decide

import (
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Engine decides for one version of a profile. It keeps the candidates, and remembers which of them a change can have
// given a match. It is not safe for concurrent use.
type Engine struct {
	plan    *plan
	lotSeed uint64

	candidateByID map[string]*candidate // by ticket, waiting and proposed
	buckets       map[bucketKey]*bucket
	ageTree       tree  // of waiting candidates, oldest first
	dirtySeeds    queue // seeds to search for
	momentTimers  queue // waiting candidates, by the time of their next moment
	sweep         sweep
	nowNanos      int64 // of the latest Run

	hostRegions   regionSet
	openRosters   []*roster // by (opened, session)
	search        search
	scratchCounts counts
}

// New returns an engine without candidates, regions and open matches. The seed draws between sides that are alike.
func New(v Version, seed uint64) *Engine {
	return &Engine{
		plan: newPlan(v.Profile), lotSeed: seed,
		candidateByID: map[string]*candidate{}, buckets: map[bucketKey]*bucket{},
		dirtySeeds: queue{slotIndex: dirtySlot}, momentTimers: queue{slotIndex: timerSlot},
		hostRegions: newRegionSet(nil),
	}
}

// Candidate reports whether a ticket may be in a match of the profile at all, and if not, everything that it lacks.
func (e *Engine) Candidate(t *match.Ticket) (ok bool, why []Lack) {
	why = e.plan.findLacks(t)
	return len(why) == 0, why
}

// Has reports whether a ticket is a candidate, waiting or proposed.
func (e *Engine) Has(id string) bool { return e.candidateByID[id] != nil }

// Ticket returns a candidate as it was added, waiting or proposed; nil if it is none.
func (e *Engine) Ticket(id string) *match.Ticket {
	if c := e.candidateByID[id]; c != nil {
		return c.ticket
	}
	return nil
}

// Len returns the number of waiting candidates. Those that are proposed do not count.
func (e *Engine) Len() int { return e.ageTree.len }

// waitingCandidates returns the waiting candidates, oldest first.
func (e *Engine) waitingCandidates() []*candidate {
	all := make([]*candidate, 0, e.ageTree.len)
	for _, l := range e.ageTree.leaves {
		for i := range l.entries {
			all = append(all, l.entries[i].c)
		}
	}
	return all
}

// ageOf returns a candidate's age at the latest Run.
func (e *Engine) ageOf(c *candidate) time.Duration { return time.Duration(e.nowNanos - c.createdNanos) }

// Version is a numbered version of a profile. The profile must decide by teams and rules, not by a match function, for
// which there is [Completer].
type Version struct {
	Profile *profile.Profile
	Number  int
}
