package decide

import (
	"slices"

	"github.com/lattice-director/director/match"
)

// Add makes a ticket a candidate: one that is new, was released or resumed, or has changed. The ticket and the seeds
// whose window holds it become dirty. A ticket that is no candidate is left out, and a former version of it is removed.
func (e *Engine) Add(t *match.Ticket) {
	// Removed first: a ticket that has changed may be no candidate any more, and then no version of it must stay.
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
	// A dirty seed needs no timer for its steps: its turn comes anyway, and is at the age that it has then. Only the
	// order of a batch, and the roles that its players take, change with time while it waits for its turn.
	if e.plan.batchColumn >= 0 || e.plan.profile.Autofill > 0 {
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

// SetRegions replaces the game regions that may host matches; of more than 64 the first by name count. Other names make
// all candidates dirty. Room decides which region a match prefers, and a match is proposed even if none of its regions
// has room: proposals that wait for a host are the caller's, which may Return their tickets to have them decided anew.
func (e *Engine) SetRegions(regions []Region) {
	set := newRegionSet(regions)
	haveSameNames := slices.Equal(set.names, e.hostRegions.names)
	e.hostRegions = set
	// Room alone decides only which region a match prefers: nobody has to search again.
	if haveSameNames {
		return
	}
	// Latencies are held by the numbers of the regions, which are others now.
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

// enterBucket adds a waiting candidate to its bucket and to the tree by age.
func (e *Engine) enterBucket(c *candidate) {
	key := e.plan.bucketOf(c)
	b := e.buckets[key]
	if b == nil {
		b = &bucket{key: key, kindCounts: map[kind]int{}}
		e.buckets[key] = b
	}
	c.bucket = b
	b.pivotTree.insert(c.pivotKey, c)
	b.kindCounts[c.kind]++
	e.ageTree.insert(float64(c.createdNanos), c)
}

// leaveBucket takes a waiting candidate out of its bucket, with its window, and out of the tree by age.
func (e *Engine) leaveBucket(c *candidate) {
	e.stopWatching(c)
	b := c.bucket
	c.bucket = nil
	b.pivotTree.remove(c.pivotKey, c)
	e.ageTree.remove(float64(c.createdNanos), c)
	b.kindCounts[c.kind]--
	// A search keeps places for each kind in kindCounts, so one that nobody is of must not stay.
	if b.kindCounts[c.kind] == 0 {
		delete(b.kindCounts, c.kind)
	}
	// A `same` rule over, say, clans makes a bucket for each: those of clans that have left would pile up.
	if b.pivotTree.len == 0 {
		delete(e.buckets, b.key)
	}
}

// mayAutofill reports whether a candidate has waited so long that its players take any role, and they do not yet.
func (e *Engine) mayAutofill(c *candidate) bool {
	after := e.plan.profile.Autofill
	return after > 0 && !c.takesAnyRole && e.ageOf(c) >= after
}

// autofillSeed lets the players of a waiting candidate take any role, and makes the seeds dirty that may want it now.
func (e *Engine) autofillSeed(c *candidate) {
	e.leaveBucket(c)
	e.plan.takeAnyRole(c)
	e.enterBucket(c)
	e.dirtyAround(c)
}

// proposeFound appends a proposal of the match that the search found, and takes its tickets out of the candidates.
func (e *Engine) proposeFound(found *[]Proposal) {
	*found = append(*found, e.search.describeProposal(&e.hostRegions))
	for _, c := range e.search.finalLine.picks {
		if !c.isSeated { // players of an open match are no candidates
			e.withdrawCandidate(c)
			c.isProposed = true
		}
	}
}
