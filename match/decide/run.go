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
	e.now = max(e.now, now.UnixNano())
	e.tick()
	e.sweep.run(e.now)
	for e.dirty.len() > 0 {
		if effort <= 0 {
			return found, false
		}
		effort -= e.try(e.dirty.pop(), &found)
	}
	done = e.sweepOn(effort, &found)
	if e.plan.byMean && e.timers.len() > 0 {
		e.sweep.beginAfter(e.now, time.Second)
	}
	return found, done
}

// try looks for a match of a seed, or for an open match that it may join, and returns the effort.
func (e *Engine) try(c *candidate, found *[]Proposal) (spent int) {
	spent = 1
	if e.plan.profile.When == profile.Prefer && e.join(c, found, &spent) {
		return spent
	}
	if e.match(c, found, &spent) {
		return spent
	}
	if e.plan.profile.When == profile.Allow {
		e.join(c, found, &spent)
	}
	return spent
}

// match searches for a new match of a seed: in regions with room, then in all, because players may also wait for a
// host.
func (e *Engine) match(c *candidate, found *[]Proposal, spent *int) bool {
	if !e.mayFill(c) {
		e.rest(c, false)
		return false
	}
	nodes := e.effort(c)
	for _, allowed := range e.searched() {
		ok, steps := e.find(c, allowed, nodes)
		*spent += steps
		if ok {
			e.search.evenPreferred()
		}
		if ok && e.mustWait(c) {
			return false
		}
		if ok {
			*spent += e.prefer(c, allowed, nodes)
			random := newLot(e.seed, c.ticket.ID)
			e.search.drawSides(&random)
			e.propose(found)
			return true
		}
	}
	e.rest(c, true)
	return false
}

// find searches for a match of a seed, and returns the steps that it took.
func (e *Engine) find(c *candidate, allowed uint64, nodes int) (ok bool, spent int) {
	ok = e.search.find(e.plan, c, e.now, allowed, nodes, e.lotOf(c))
	return ok, nodes - e.search.nodes + e.search.choices.scanned/scannedPerStep
}

// effort returns the steps of a search: more for a seed that has waited longer, and for one whose last searches found
// nothing, until it is stuck.
func (e *Engine) effort(c *candidate) int {
	if c.tries == stuckAfter {
		return baseNodes
	}
	return min(maxNodes, baseNodes<<min(e.plan.momentAfter(e.ageOf(c))+int(c.tries), 8))
}

// lotOf returns the random numbers of a search. They change with time, so that a search that failed tries other orders
// when it is repeated, and do not depend on earlier searches, of which a replay that begins later knows nothing.
func (e *Engine) lotOf(c *candidate) lot {
	return newLot(e.seed^uint64(e.now/int64(retryAfter)), c.ticket.ID)
}

// scannedPerStep is how many candidates a search looks at in the time of a step.
const scannedPerStep = 4

// searched returns the sets of regions in which a match is searched, in this order.
func (e *Engine) searched() []uint64 {
	if e.regions.room == 0 || e.regions.room == e.regions.knownRegions {
		return []uint64{e.regions.knownRegions}
	}
	return []uint64{e.regions.room, e.regions.knownRegions}
}

// propose hands out the match that the search found, and takes its tickets out of the candidates.
func (e *Engine) propose(found *[]Proposal) {
	*found = append(*found, e.search.proposal(&e.regions))
	for _, c := range e.search.final.picks {
		if !c.seated {
			e.withdraw(c)
			c.proposed = true
		}
	}
}

// sweepOn tries the seeds that are due, oldest first. It reports whether the effort sufficed.
func (e *Engine) sweepOn(effort int, found *[]Proposal) bool {
	due := e.sweep.seedsDue(e.now)
	if due == 0 {
		return true
	}
	if !e.mayMatch() {
		e.sweep.end(e.now)
		return true
	}
	at := cursor{}
	if last := e.sweep.from; last != nil {
		at = e.ages.cursorAfter(float64(last.created), last)
	}
	for ; due > 0 && effort > 0 && !e.ages.ended(at); due-- {
		c := e.ages.entry(at).c
		effort -= e.try(c, found)
		e.sweep.from = c
		at = e.ages.cursorAfter(float64(c.created), c)
	}
	if e.ages.ended(at) {
		e.sweep.end(e.now)
		return true
	}
	// Where the effort ran out, the seeds that are left stay due: the next Run goes on behind the last one tried.
	if effort > 0 {
		e.sweep.last = e.now
	}
	return effort > 0
}

// Next returns when Run has something to do without a change; ok is false if it never has. After a change, call Run
// first.
func (e *Engine) Next() (at time.Time, ok bool) {
	next := int64(math.MaxInt64)
	if e.timers.len() > 0 {
		next = e.timers.items[0].key
	}
	if e.sweep.active && !e.sweep.idle {
		next = min(next, e.sweep.last+int64(sweepEvery))
	}
	return time.Unix(0, next).UTC(), next != math.MaxInt64
}
