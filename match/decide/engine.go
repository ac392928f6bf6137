package decide

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
)

// Engine decides for one version of a profile. It keeps the candidates, and remembers which of them a change can have
// given a match. It is not safe for concurrent use.
type Engine struct {
	plan    *plan
	lotSeed uint64

	candidateByID map[string]*candidate // waiting and proposed
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

// Add makes a ticket a candidate: one that is new, was released or resumed, or has changed. The ticket and the seeds
// whose window holds it become dirty. A ticket that is no candidate is left out, and a former version of it is removed.
func (e *Engine) Add(t *match.Ticket) {
	e.Remove(t.ID)
	if len(e.plan.findLacks(t)) > 0 {
		return
	}
	c := e.prepareCandidate(t)
	e.candidateByID[t.ID] = c
	e.queueCandidate(c)
}

// prepareCandidate makes a candidate of a ticket that lacks nothing, as it is now.
func (e *Engine) prepareCandidate(t *match.Ticket) *candidate {
	c := e.plan.newCandidate(t, &e.hostRegions)
	if e.mayAutofill(c) {
		e.plan.takeAnyRole(c)
	}
	return c
}

// queueCandidate puts a candidate at its place in the queue.
func (e *Engine) queueCandidate(c *candidate) {
	c.isProposed = false
	c.failedSearches, c.nextMoment, c.searchAt = 0, 0, 0
	e.enterBucket(c)
	// Where counts exclude every match with the newcomer, the seeds around it need not search again. Its own search
	// finds the same soon.
	if e.mayMeet(c) {
		e.dirtyAround(c)
		e.sweep.begin()
	}
	e.markDirty(c)
	if e.plan.batchColumn >= 0 || e.plan.profile.Autofill > 0 { // time changes the turn, or the roles, even of a dirty seed
		e.setTimer(c)
	}
}

// Remove forgets a ticket, waiting or proposed. An id that is unknown is ignored.
func (e *Engine) Remove(id string) {
	c := e.candidateByID[id]
	if c == nil {
		return
	}
	delete(e.candidateByID, id)
	if !c.isProposed {
		e.withdrawCandidate(c)
	}
}

// withdrawCandidate takes a waiting candidate out of everything that leads to it.
func (e *Engine) withdrawCandidate(c *candidate) {
	e.leaveBucket(c)
	e.dirtySeeds.removeCandidate(c)
	e.momentTimers.removeCandidate(c)
}

// Return makes the tickets of a dropped proposal candidates again, at their place in the queue. Ids that are not
// proposed are ignored.
func (e *Engine) Return(ids ...string) {
	for _, id := range ids {
		if c := e.candidateByID[id]; c != nil && c.isProposed {
			e.queueCandidate(c)
		}
	}
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

// SetRegions replaces the game regions that may host matches; of more than 64 the first by name count. Other names make
// all candidates dirty. Room decides which region a match prefers, and a match is proposed even if none of its regions
// has room: proposals that wait for a host are the caller's, which may Return their tickets to have them decided anew.
func (e *Engine) SetRegions(regions []Region) {
	set := newRegionSet(regions)
	same := slices.Equal(set.names, e.hostRegions.names)
	e.hostRegions = set
	if same {
		return
	}
	for _, c := range e.waitingCandidates() {
		e.withdrawCandidate(c)
		e.hostRegions.measureCandidate(c)
		e.queueCandidate(c)
	}
	// A proposal may be dropped, and its tickets return: their latencies must be by the numbers of the new regions.
	for _, c := range e.candidateByID {
		if c.isProposed {
			e.hostRegions.measureCandidate(c)
		}
	}
}

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

func (e *Engine) ageOf(c *candidate) time.Duration { return time.Duration(e.nowNanos - c.createdNanos) }

// Input is everything that a decision depends on.
type Input struct {
	Version Version
	Tickets []*match.Ticket // in any order; those that are no candidates are left out
	Rosters []Roster
	Regions []Region
	Now     time.Time
	Seed    uint64
}

// Output is what was decided.
type Output struct {
	Proposals []Proposal // in the order in which they were found
	// Next is when time alone may change something; zero if it will not.
	Next time.Time
}

// Decide is a whole decision. The same input always has the same output, in whatever order its lists are.
func Decide(in Input) Output {
	e := New(in.Version, in.Seed)
	e.SetRegions(in.Regions)
	for _, t := range in.Tickets {
		e.Add(t)
	}
	for _, r := range in.Rosters {
		e.PutRoster(r)
	}
	var out Output
	out.Proposals, _ = e.Run(in.Now, math.MaxInt)
	out.Next, _ = e.Next()
	return out
}
