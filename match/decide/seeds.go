package decide

import (
	"math"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// The bounds of what a change causes.
const (
	searchesPerNewcomer = 32 // seeds that a newcomer makes dirty
	seenPerNewcomer     = 64 // seeds that are looked at for them
	stuckAfter          = 4  // searches without a match
)

// dirtyAround makes the seeds dirty whose window holds a newcomer, as far as counts do not exclude a match of theirs.
func (e *Engine) dirtyAround(newcomer *candidate) {
	var seeds []*candidate
	seen := 0
	newcomer.bucket.windows.eachHolding(&e.plan.pivot, newcomer, func(c *candidate) bool {
		if seen++; e.mayFill(c) {
			seeds = append(seeds, c)
		}
		return len(seeds) < searchesPerNewcomer && seen < seenPerNewcomer
	})
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
// one of them has now. With many buckets it gives the answer that promises nothing.
func (e *Engine) mayMatch() bool {
	if len(e.buckets) > fewBuckets || e.plan.profile.When != profile.Never || e.ageTree.len == 0 {
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

func (e *Engine) demandAt(age time.Duration) demand {
	return demand{e.plan.leastAt(age).totalSize, e.plan.traitNeeds}
}

// markDirty gives a seed a turn. Newcomers change nothing for it until it had it.
func (e *Engine) markDirty(c *candidate) {
	e.stopWatching(c)
	c.searchAt = 0
	e.dirtySeeds.putAt(c, e.turnOf(c))
}

// restSeed follows a turn without a match: the seed watches its window, unless it is stuck, and waits for its next moment.
// A search that ran out of steps is repeated soon, with more of them, until the seed is stuck.
func (e *Engine) restSeed(c *candidate, searched bool) {
	age := e.ageOf(c)
	// Time alone has changed what a search may find: earlier failures say nothing any more.
	if next := int16(e.plan.momentAfter(age)); next != c.nextMoment {
		c.nextMoment, c.failedSearches = next, 0
	}
	if searched && c.failedSearches < stuckAfter {
		c.failedSearches++
		if e.search.ranOutOfSteps {
			c.searchAt = e.nowNanos + int64(retryAfter)
		}
	}
	e.setTimer(c)
	e.stopWatching(c)
	if c.failedSearches < stuckAfter {
		c.windowStep, c.isWatching = int16(e.plan.pivot.stepAt(age)), true
		c.bucket.windows.insert(&e.plan.pivot, c)
	}
}

// retryAfter is the time between two searches of a seed of which the first ran out of steps: all of them are within a
// second.
const retryAfter = time.Second / stuckAfter

func (e *Engine) stopWatching(c *candidate) {
	if c.isWatching {
		c.isWatching = false
		c.bucket.windows.remove(&e.plan.pivot, c)
	}
}

// headStart returns by how much a ticket takes its turn earlier than its age says. It is bounded, so that everybody's
// turn comes: a ticket is overtaken only by those that arrive within the greatest head start after it.
func (pl *plan) headStart(c *candidate) time.Duration {
	if pl.priorityColumn == noColumn {
		return 0
	}
	least := pl.profile.Priority.UpTo.Seconds()
	for _, x := range c.numbersOf(pl.priorityColumn) {
		if !(x > 0) { // players without the number have none
			return 0
		}
		least = min(least, x)
	}
	return time.Duration(least * float64(time.Second))
}

// turnOf orders the dirty seeds: the oldest first, or those with a head start. With a batch, seeds that are younger than
// it wait for all older ones and come in the order of its number, so that neighbours follow each other.
func (e *Engine) turnOf(c *candidate) int64 {
	if e.plan.batchColumn < 0 {
		return c.turnNanos
	}
	if time.Duration(e.nowNanos-c.turnNanos) >= e.plan.profile.Batch.For {
		return math.MinInt64/2 + c.turnNanos/2 // before all numbers; ties go by age
	}
	// Positive and negative numbers are shrunk so far that all of them are above the turns of those who waited long.
	return max(0, sortableInt(c.middleOf(e.plan.batchColumn)))/2 + min(0, sortableInt(c.middleOf(e.plan.batchColumn)))/4
}

// sortableInt maps numbers to integers of the same order.
func sortableInt(x float64) int64 {
	bits := int64(math.Float64bits(x))
	if bits < 0 {
		return math.MinInt64 - bits
	}
	return bits
}

// setTimer remembers when time alone changes what a candidate's search may find.
func (e *Engine) setTimer(c *candidate) {
	at := int64(math.MaxInt64)
	if int(c.nextMoment) < len(e.plan.changeAges) {
		at = c.createdNanos + int64(e.plan.changeAges[c.nextMoment])
	}
	if c.searchAt > 0 {
		at = min(at, c.searchAt)
	}
	// From then on the seed comes before those in the order of the batch.
	if first := c.turnNanos + int64(e.plan.profile.Batch.For); e.plan.batchColumn >= 0 && first > e.nowNanos {
		at = min(at, first)
	}
	if at == math.MaxInt64 {
		e.momentTimers.removeCandidate(c)
		return
	}
	e.momentTimers.putAt(c, at)
}

// mayAutofill reports whether a candidate has waited so long that its players take any role, and they do not yet.
func (e *Engine) mayAutofill(c *candidate) bool {
	after := e.plan.profile.Autofill
	return after > 0 && !c.takesAnyRole && e.ageOf(c) >= after
}

// autofillSeed puts a waiting candidate at the place of one whose players take any role: seeds may want it now.
func (e *Engine) autofillSeed(c *candidate) {
	e.leaveBucket(c)
	e.plan.takeAnyRole(c)
	e.enterBucket(c)
	e.dirtyAround(c)
}

// runTimers makes the seeds dirty whose moment has come.
func (e *Engine) runTimers() {
	for e.momentTimers.len() > 0 && e.momentTimers.items[0].sortKey <= e.nowNanos {
		c := e.momentTimers.items[0].c
		c.searchAt = 0
		if e.mayAutofill(c) {
			e.autofillSeed(c)
		}
		if next := int16(e.plan.momentAfter(e.ageOf(c))); next != c.nextMoment {
			c.nextMoment, c.failedSearches = next, 0
		}
		e.setTimer(c)
		e.markDirty(c)
	}
}

// reachAt returns how far the window of a seed extends from its own numbers, after so many steps of the pivot's rule.
func (p *pivot) reachAt(step int) float64 {
	if p.rule == nil || p.reachFactor == 0 {
		return math.Inf(1)
	}
	lim := &p.rule.baseLimits
	if step > 0 {
		lim = &p.rule.limitSteps[step-1].Limits
	}
	if lim.Ended {
		return math.Inf(1)
	}
	return float64(p.reachFactor * lim.Within)
}

// widthOf returns within what range all keys of a match are, if the windows of its tickets have that reach.
func (p *pivot) widthOf(reach float64) float64 {
	if p.rule != nil && p.rule.ageKind == profile.Each { // two older tickets may be farther from each other than from the seed
		return 2 * reach
	}
	return reach
}

// widthAt is width for those of an age.
func (p *pivot) widthAt(age time.Duration) float64 { return p.widthOf(p.reachAt(p.stepAt(age))) }

// stepAt returns how many steps of the pivot's rule an age has passed.
func (p *pivot) stepAt(age time.Duration) int {
	if p.rule == nil {
		return 0
	}
	return p.rule.stepAt(age)
}

// keyWindow returns the keys that a candidate may have beside c: of each player within reach of each other. Rounding must
// not exclude a candidate that the rule admits, so the window is a little wider; the rule itself is judged exactly.
func keyWindow(c *candidate, reach float64) (low, high float64) {
	if math.IsInf(reach, 1) {
		return math.Inf(-1), math.Inf(1)
	}
	margin := (math.Abs(c.pivotLow) + math.Abs(c.pivotHigh) + reach) * 1e-15
	return c.pivotHigh - reach - margin, c.pivotLow + reach + margin
}

// windows finds the seeds whose window holds a newcomer. Seeds are sorted by the steps that they have passed: those of
// equal steps have windows of equal width, so a range of their keys has all the windows that hold a given number.
type windows struct {
	byStep []tree // of candidates that are neither dirty nor stuck
}

func (w *windows) treeOf(step int) *tree {
	for len(w.byStep) <= step {
		w.byStep = append(w.byStep, tree{})
	}
	return &w.byStep[step]
}

// windowKey is a candidate's key in the tree of its step. Windows without an end hold everybody: those are sorted by
// their turns.
func windowKey(p *pivot, c *candidate) float64 {
	if math.IsInf(p.reachAt(int(c.windowStep)), 1) {
		return float64(c.turnNanos)
	}
	return c.pivotKey
}

func (w *windows) insert(p *pivot, c *candidate) {
	w.treeOf(int(c.windowStep)).insert(windowKey(p, c), c)
}

func (w *windows) remove(p *pivot, c *candidate) {
	w.treeOf(int(c.windowStep)).remove(windowKey(p, c), c)
}

// eachHolding calls f with the seeds whose window may hold the newcomer until f returns false: those that passed the most
// steps first, for they waited longest, and of those the nearest, or the first in turn if their windows have no end.
func (w *windows) eachHolding(p *pivot, newcomer *candidate, f func(*candidate) bool) {
	for step := len(w.byStep) - 1; step >= 0; step-- {
		t := &w.byStep[step]
		middle := newcomer.pivotKey
		low, high := keyWindow(newcomer, p.reachAt(step))
		if math.IsInf(high, 1) {
			middle = math.Inf(-1)
		}
		seeds := newWalk(t, middle, low, high)
		for c := seeds.nextCandidate(); c != nil; c = seeds.nextCandidate() {
			if !f(c) {
				return
			}
		}
	}
}

// sweep goes over all candidates, oldest first, after a change: it reaches the seeds that the change did not make
// dirty. While anything changes it tries 4,096 a second, or each candidate once a second if there are fewer; then it
// ends.
type sweep struct {
	isActive          bool
	isIdle            bool // until the next Run, which sets when the round begins
	needsAnotherRound bool // something changed since it began
	// when it last tried seeds; for a round that has not begun, sweepEvery before it begins
	lastNanos int64
	lastTried *candidate // the last one it tried; nil: none
}

// The sweep goes on every so often, over so many seeds, and after a pause over those of a second at most.
const (
	sweepEvery = time.Second / 16
	sweepSeeds = 256
	sweepMost  = 16 * sweepSeeds
)

// begin starts the sweep with the next Run, or adds a round to a running one.
func (s *sweep) begin() {
	if s.isActive {
		s.needsAnotherRound = true
		return
	}
	*s = sweep{isActive: true, isIdle: true}
}

// roundEvery is the time between the beginnings of two rounds. A seed that found nothing in one round is unlikely to
// find something sooner, since newcomers search for themselves. Rounds begin at full seconds, so that their times do
// not depend on earlier decisions, and a replay that begins later has the same rounds.
const roundEvery = time.Second

// startRound schedules the next round at the next full second.
func (s *sweep) startRound(now int64) {
	*s = sweep{isActive: true, lastNanos: (now/int64(roundEvery)+1)*int64(roundEvery) - int64(sweepEvery)}
}

// beginRun is called at the beginning of a Run.
func (s *sweep) beginRun(now int64) {
	if s.isIdle {
		s.startRound(now)
	}
}

// beginAfter starts the sweep later, unless it goes on already.
func (s *sweep) beginAfter(now int64, d time.Duration) {
	if !s.isActive {
		*s = sweep{isActive: true, lastNanos: now + int64(d-sweepEvery)}
	}
}

// seedsDue returns how many seeds may be tried by now.
func (s *sweep) seedsDue(now int64) int {
	if !s.isActive || s.isIdle || now < s.lastNanos {
		return 0
	}
	return int(min(sweepMost, (now-s.lastNanos)/int64(sweepEvery)*sweepSeeds))
}

// endRound follows the last candidate.
func (s *sweep) endRound(now int64) {
	again := s.needsAnotherRound
	s.isActive, s.lastTried = false, nil
	if again {
		s.startRound(now)
	}
}
