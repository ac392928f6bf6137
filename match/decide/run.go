package decide

import (
	"math"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// Run searches for dirty seeds, oldest first, until none is dirty or the effort is spent, and then sweeps. It returns
// the matches found, in that order; done is false if the effort did not suffice, and Run should be called again soon.
// The effort is in steps of the search, of which a core does some millions a second. The tickets of a proposal are no
// candidates until Return. Where now is before that of an earlier call, the earlier call's counts.
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
	// A match reaches a step by its mean age at a moment for which no ticket has a timer: the sweep searches every second.
	if e.plan.byMean && e.momentTimers.len() > 0 {
		e.sweep.beginAfter(e.nowNanos, time.Second)
	}
	return found, done
}

// runTimers makes the seeds dirty whose moment has come.
func (e *Engine) runTimers() {
	for e.momentTimers.len() > 0 && e.momentTimers.items[0].sortKey <= e.nowNanos {
		c := e.momentTimers.items[0].c
		c.searchAt = 0
		if e.mayAutofill(c) {
			e.autofillSeed(c)
		}
		e.passMoments(c)
		e.setTimer(c)
		e.markDirty(c)
	}
}

// trySeed looks for a match of a seed, or for an open match that it may join, and returns the effort.
func (e *Engine) trySeed(c *candidate, found *[]Proposal) (spent int) {
	spent = 1
	if e.plan.profile.JoinInProgress.When == profile.Prefer && e.tryJoin(c, found, &spent) {
		return spent
	}
	if e.findMatch(c, found, &spent) {
		return spent
	}
	if e.plan.profile.JoinInProgress.When == profile.Allow {
		e.tryJoin(c, found, &spent)
	}
	return spent
}

// findMatch searches for a new match of a seed: in regions with room, then in all, because players may also wait for a
// host.
func (e *Engine) findMatch(c *candidate, found *[]Proposal, spent *int) bool {
	// Counting is much cheaper than a search in vain, which every seed of a short queue would make.
	if !e.mayFill(c) {
		e.restSeed(c)
		return false
	}
	nodes := e.searchEffort(c)
	for _, allowed := range e.searchedRegions() {
		ok, steps := e.runSearch(c, allowed, nodes)
		*spent += steps
		if !ok {
			continue
		}
		// Teams are made even before the match is due, since even teams cost less by a trade of balance.
		e.search.evenPreferred()
		if due := e.dueAt(); !due.IsZero() {
			e.restUntil(c, due)
			return false
		}
		*spent += e.preferHeavier(c, allowed, nodes)
		// Not the lot of the search, which changes with time, so that a match that is found again has the same sides.
		random := newLot(e.lotSeed, c.ticket.ID)
		e.search.drawSides(&random)
		e.proposeFound(found)
		return true
	}
	e.restFailed(c)
	return false
}

// sweepOn tries the seeds of the sweep that are due, oldest first, and reports whether the effort sufficed.
func (e *Engine) sweepOn(effort int, found *[]Proposal) bool {
	due := e.sweep.seedsDue(e.nowNanos)
	if due == 0 {
		return true
	}
	// A queue that cannot have a match, such as three players for teams of five, is not swept at all.
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
		at = e.ageTree.cursorAfter(float64(c.createdNanos), c) // looked up, since a match has taken candidates out
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
