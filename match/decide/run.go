package decide

import (
	"math"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// Run searches for dirty seeds, oldest first, until none is dirty or the effort is spent, and then sweeps. It returns
// the matches found, in that order; done is false if the effort did not suffice, and Run should be called again soon.
// The effort is in steps of the search, of which a core does some millions a second. The tickets of a proposal are no
// candidates until Return. A now before that of an earlier call counts as that one.
func (e *Engine) Run(now time.Time, effort int) (found []Proposal, done bool) {
	e.nowNanos = max(e.nowNanos, now.UnixNano())
	e.runTimers()
	e.sweep.beginRun(e.nowNanos)
	for e.dirtySeeds.len() > 0 {
		if effort <= 0 {
			return found, false
		}
		effort -= e.trySeed(e.dirtySeeds.popFirst(), &found)
	}
	done = e.sweepOn(effort, &found)
	if e.plan.byMean && e.momentTimers.len() > 0 {
		e.sweep.beginAfter(e.nowNanos, time.Second)
	}
	return found, done
}

// trySeed looks for a match of a seed, or for an open match that it may join, and returns the effort.
func (e *Engine) trySeed(c *candidate, found *[]Proposal) (spent int) {
	spent = 1
	if e.plan.profile.When == profile.Prefer && e.tryJoin(c, found, &spent) {
		return spent
	}
	if e.findMatch(c, found, &spent) {
		return spent
	}
	if e.plan.profile.When == profile.Allow {
		e.tryJoin(c, found, &spent)
	}
	return spent
}

// findMatch searches for a new match of a seed: in regions with room, then in all, because players may also wait for a
// host.
func (e *Engine) findMatch(c *candidate, found *[]Proposal, spent *int) bool {
	if !e.mayFill(c) {
		e.restSeed(c, false)
		return false
	}
	nodes := e.searchEffort(c)
	for _, allowed := range e.searchedRegions() {
		ok, steps := e.runSearch(c, allowed, nodes)
		*spent += steps
		if ok {
			e.search.evenPreferred()
		}
		if ok && e.mustWait(c) {
			return false
		}
		if ok {
			*spent += e.preferHeavier(c, allowed, nodes)
			random := newLot(e.lotSeed, c.ticket.ID)
			e.search.drawSides(&random)
			e.proposeFound(found)
			return true
		}
	}
	e.restSeed(c, true)
	return false
}

// runSearch searches for a match of a seed, and returns the steps that it took.
func (e *Engine) runSearch(c *candidate, allowed uint64, nodes int) (ok bool, spent int) {
	ok = e.search.findMatch(e.plan, c, e.nowNanos, allowed, nodes, e.lotOf(c))
	return ok, nodes - e.search.stepsLeft + e.search.choices.scannedCount/scannedPerStep
}

// searchEffort returns the steps of a search: more for a seed that has waited longer, and for one whose last searches found
// nothing, until it is stuck.
func (e *Engine) searchEffort(c *candidate) int {
	if c.failedSearches == stuckAfter {
		return baseNodes
	}
	return min(maxNodes, baseNodes<<min(e.plan.momentAfter(e.ageOf(c))+int(c.failedSearches), 8))
}

// lotOf returns the random numbers of a search. They change with time, so that a search that failed tries other orders
// when it is repeated, and do not depend on earlier searches, of which a replay that begins later knows nothing.
func (e *Engine) lotOf(c *candidate) lot {
	return newLot(e.lotSeed^uint64(e.nowNanos/int64(retryAfter)), c.ticket.ID)
}

// scannedPerStep is how many candidates a search looks at in the time of a step.
const scannedPerStep = 4

// searchedRegions returns the sets of regions in which a match is searched, in this order.
func (e *Engine) searchedRegions() []uint64 {
	if e.hostRegions.roomyRegions == 0 || e.hostRegions.roomyRegions == e.hostRegions.knownRegions {
		return []uint64{e.hostRegions.knownRegions}
	}
	return []uint64{e.hostRegions.roomyRegions, e.hostRegions.knownRegions}
}

// proposeFound hands out the match that the search found, and takes its tickets out of the candidates.
func (e *Engine) proposeFound(found *[]Proposal) {
	*found = append(*found, e.search.describeProposal(&e.hostRegions))
	for _, c := range e.search.finalLine.picks {
		if !c.isSeated {
			e.withdrawCandidate(c)
			c.isProposed = true
		}
	}
}

// sweepOn tries the seeds that are due, oldest first. It reports whether the effort sufficed.
func (e *Engine) sweepOn(effort int, found *[]Proposal) bool {
	due := e.sweep.seedsDue(e.nowNanos)
	if due == 0 {
		return true
	}
	if !e.mayMatch() {
		e.sweep.endRound(e.nowNanos)
		return true
	}
	at := cursor{}
	if last := e.sweep.lastTried; last != nil {
		at = e.ageTree.cursorAfter(float64(last.createdNanos), last)
	}
	for ; due > 0 && effort > 0 && !e.ageTree.isEnd(at); due-- {
		c := e.ageTree.entryAt(at).c
		effort -= e.trySeed(c, found)
		e.sweep.lastTried = c
		at = e.ageTree.cursorAfter(float64(c.createdNanos), c)
	}
	if e.ageTree.isEnd(at) {
		e.sweep.endRound(e.nowNanos)
		return true
	}
	// Where the effort ran out, the seeds that are left stay due: the next Run goes on behind the last one tried.
	if effort > 0 {
		e.sweep.lastNanos = e.nowNanos
	}
	return effort > 0
}

// Next returns when Run has something to do without a change; ok is false if it never has. After a change, call Run
// first.
func (e *Engine) Next() (at time.Time, ok bool) {
	next := int64(math.MaxInt64)
	if e.momentTimers.len() > 0 {
		next = e.momentTimers.items[0].sortKey
	}
	if e.sweep.isActive && !e.sweep.isIdle {
		next = min(next, e.sweep.lastNanos+int64(sweepEvery))
	}
	return time.Unix(0, next).UTC(), next != math.MaxInt64
}
