package decide

import (
	"math"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// The bounds of what a change causes.
const (
	searchesPerNewcomer = 32 // seeds that a newcomer makes dirty
	seenPerNewcomer     = 64 // seeds that are looked at to find these
	stuckAfter          = 4  // searches without a match, after which a seed is stuck
)

// dirtyAround makes the seeds dirty whose window holds a newcomer, as far as counts do not exclude a match of theirs.
func (e *Engine) dirtyAround(newcomer *candidate) {
	var seeds []*candidate
	seen := 0
	newcomer.bucket.windows.eachHolding(&e.plan.pivot, newcomer, func(c *candidate) bool {
		seen++
		if e.mayFill(c) {
			seeds = append(seeds, c)
		}
		return len(seeds) < searchesPerNewcomer && seen < seenPerNewcomer
	})
	// After the walk: a seed that becomes dirty leaves the windows through which it goes.
	for _, c := range seeds {
		e.markDirty(c)
	}
}

// mayMeet reports whether those whom a newcomer may meet have enough players, and enough with each trait, under the
// limits of the one that has waited longest.
func (e *Engine) mayMeet(newcomer *candidate) bool {
	oldest := e.ageTree.entryAt(cursor{}).c
	return e.windowOffers(newcomer, max(e.ageOf(oldest), e.ageOf(newcomer)))
}

// mayFill reports whether the window of a seed has enough players, and enough with each trait, who may be in one match.
func (e *Engine) mayFill(c *candidate) bool { return e.windowOffers(c, e.ageOf(c)) }

func (e *Engine) windowOffers(c *candidate, age time.Duration) bool {
	p := &e.plan.pivot
	reach, need := p.reachAt(p.stepAt(age)), e.demandAt(age)
	return c.bucket.pivotTree.offersInWindow(c, reach, p.widthOf(reach), &need, &e.scratchCounts)
}

// fewBuckets bounds the buckets of which mayMatch asks each.
const fewBuckets = 16

// mayMatch reports whether the candidates of any bucket may meet the demand of a match, under the widest limits that
// one of them has now. With more than fewBuckets buckets it returns true.
func (e *Engine) mayMatch() bool {
	// Open matches need fewer players than a new one, of which the demand below knows nothing.
	if len(e.buckets) > fewBuckets || e.plan.profile.JoinInProgress.When != profile.Never || e.ageTree.len == 0 {
		return true
	}
	age := e.ageOf(e.ageTree.entryAt(cursor{}).c)
	width, need := e.plan.pivot.widthAt(age), e.demandAt(age)
	for _, b := range e.buckets {
		if b.pivotTree.offersAnywhere(width, &need, &e.scratchCounts) {
			return true
		}
	}
	return false
}

// demandAt returns what a match needs at least at an age.
func (e *Engine) demandAt(age time.Duration) demand {
	return demand{e.plan.leastAt(age).totalSize, e.plan.traitNeeds}
}

// markDirty gives a seed a turn. It does not watch its window until then, since newcomers change nothing before.
func (e *Engine) markDirty(c *candidate) {
	e.stopWatching(c)
	c.searchAt = 0
	e.dirtySeeds.putAt(c, e.turnOf(c))
}

// restSeed ends a turn without a match: the seed watches its window, unless it is stuck, and waits for its next moment.
func (e *Engine) restSeed(c *candidate) {
	e.passMoments(c)
	e.setTimer(c)
	e.stopWatching(c)
	if c.failedSearches < stuckAfter {
		c.windowStep, c.isWatching = int16(e.plan.pivot.stepAt(e.ageOf(c))), true
		c.bucket.windows.insert(&e.plan.pivot, c)
	}
}

// restFailed is restSeed after a search that found nothing. A search that ran out of steps is repeated soon, with more
// of them, until the seed is stuck.
func (e *Engine) restFailed(c *candidate) {
	e.passMoments(c)
	if c.failedSearches < stuckAfter {
		c.failedSearches++
		// A search that tried everything would find nothing again, in whatever order.
		if e.search.ranOutOfSteps {
			c.searchAt = e.nowNanos + int64(retryAfter)
		}
	}
	e.restSeed(c)
}

// passMoments sets a candidate's next moment by its age. When it has passed one, time alone has changed what a search
// may find: earlier failures say nothing any more.
func (e *Engine) passMoments(c *candidate) {
	if next := int16(e.plan.momentAfter(e.ageOf(c))); next != c.nextMoment {
		c.nextMoment, c.failedSearches = next, 0
	}
}

// retryAfter is the time between two searches of a seed of which the first ran out of steps: all of them are within a
// second.
const retryAfter = time.Second / stuckAfter

// stopWatching takes a seed out of the windows that newcomers look through.
func (e *Engine) stopWatching(c *candidate) {
	if c.isWatching {
		c.isWatching = false
		c.bucket.windows.remove(&e.plan.pivot, c)
	}
}

// turnOf returns the key that orders the dirty seeds: the oldest first, or those with a head start. In a profile with a
// batch, seeds that have waited for the length of the batch come first, in that order. The others follow in the order of
// the batch's number, so that neighbours follow each other.
func (e *Engine) turnOf(c *candidate) int64 {
	if e.plan.batchColumn == noColumn {
		return c.turnNanos
	}
	// Keys of seeds that have waited end below MinInt64/4: halves of times since 1970 are at most MaxInt64/4 until 2116.
	if time.Duration(e.nowNanos-c.turnNanos) >= e.plan.profile.Batch.For {
		return math.MinInt64/2 + c.turnNanos/2 // two that are equal go by age
	}
	number := sortableInt(c.middleOf(e.plan.batchColumn))
	// A quarter of a negative number is at least MinInt64/4: above the keys of seeds that have waited.
	if number < 0 {
		return number / 4
	}
	return number / 2
}

// sortableInt maps numbers to integers of the same order.
func sortableInt(x float64) int64 {
	bits := int64(math.Float64bits(x))
	// The bits of positive numbers ascend with them. Those of negative ones begin with the sign and descend.
	if bits < 0 {
		return math.MinInt64 - bits
	}
	return bits
}

// setTimer sets a candidate's timer to when time alone changes what its search may find, or the order of its turn.
func (e *Engine) setTimer(c *candidate) {
	at := int64(math.MaxInt64)
	if int(c.nextMoment) < len(e.plan.changeAges) {
		at = c.createdNanos + int64(e.plan.changeAges[c.nextMoment])
	}
	if c.searchAt > 0 {
		at = min(at, c.searchAt)
	}
	// When the seed has waited for the length of the batch, it comes before those in the order of the number.
	batchEnd := c.turnNanos + int64(e.plan.profile.Batch.For)
	if e.plan.batchColumn != noColumn && batchEnd > e.nowNanos {
		at = min(at, batchEnd)
	}
	if at == math.MaxInt64 {
		e.momentTimers.removeCandidate(c)
		return
	}
	e.momentTimers.putAt(c, at)
}
