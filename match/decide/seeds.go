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
	newcomer.bucket.windows.holding(&e.plan.pivot, newcomer, func(c *candidate) bool {
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
	oldest := e.ages.entry(cursor{}).c
	return e.windowOffers(newcomer, max(e.ageOf(oldest), e.ageOf(newcomer)))
}

// mayFill reports whether the window of a seed has enough players, and enough with each trait, who may be in one match.
func (e *Engine) mayFill(c *candidate) bool { return e.windowOffers(c, e.ageOf(c)) }

func (e *Engine) windowOffers(c *candidate, age time.Duration) bool {
	p := &e.plan.pivot
	reach, need := p.reach(p.step(age)), e.demandAt(age)
	return c.bucket.tree.offers(c, reach, p.width(reach), &need, &e.scratch)
}

// fewBuckets bounds the buckets of which mayMatch asks each.
const fewBuckets = 16

// mayMatch reports whether the candidates of any bucket may meet the demand of a match, under the widest limits that
// one of them has now. With many buckets it gives the answer that promises nothing.
func (e *Engine) mayMatch() bool {
	if len(e.buckets) > fewBuckets || e.plan.profile.When != profile.Never || e.ages.len == 0 {
		return true
	}
	age := e.ageOf(e.ages.entry(cursor{}).c)
	width, need := e.plan.pivot.widthAt(age), e.demandAt(age)
	for _, b := range e.buckets {
		if b.tree.offersAnywhere(width, &need, &e.scratch) {
			return true
		}
	}
	return false
}

func (e *Engine) demandAt(age time.Duration) demand {
	return demand{e.plan.leastAt(age).sum, e.plan.traitNeeds}
}

// markDirty gives a seed a turn. Newcomers change nothing for it until it had it.
func (e *Engine) markDirty(c *candidate) {
	e.unwatch(c)
	c.searchAt = 0
	e.dirty.put(c, e.turn(c))
}

// rest follows a turn without a match: the seed watches its window, unless it is stuck, and waits for its next moment.
// A search that ran out of steps is repeated soon, with more of them, until the seed is stuck.
func (e *Engine) rest(c *candidate, searched bool) {
	age := e.ageOf(c)
	// Time alone has changed what a search may find: earlier failures say nothing any more.
	if next := int16(e.plan.momentAfter(age)); next != c.moment {
		c.moment, c.tries = next, 0
	}
	if searched && c.tries < stuckAfter {
		c.tries++
		if e.search.ranOutOfSteps {
			c.searchAt = e.now + int64(retryAfter)
		}
	}
	e.setTimer(c)
	e.unwatch(c)
	if c.tries < stuckAfter {
		c.step, c.watching = int16(e.plan.pivot.step(age)), true
		c.bucket.windows.insert(&e.plan.pivot, c)
	}
}

// retryAfter is the time between two searches of a seed of which the first ran out of steps: all of them are within a
// second.
const retryAfter = time.Second / stuckAfter

func (e *Engine) unwatch(c *candidate) {
	if c.watching {
		c.watching = false
		c.bucket.windows.remove(&e.plan.pivot, c)
	}
}

// headStart returns by how much a ticket takes its turn earlier than its age says. It is bounded, so that everybody's
// turn comes: a ticket is overtaken only by those that arrive within the greatest head start after it.
func (pl *plan) headStart(c *candidate) time.Duration {
	if pl.priority == noColumn {
		return 0
	}
	least := pl.profile.Priority.UpTo.Seconds()
	for _, x := range c.column(pl.priority) {
		if !(x > 0) { // players without the number have none
			return 0
		}
		least = min(least, x)
	}
	return time.Duration(least * float64(time.Second))
}

// turn orders the dirty seeds: the oldest first, or those with a head start. With a batch, seeds that are younger than
// it wait for all older ones and come in the order of its number, so that neighbours follow each other.
func (e *Engine) turn(c *candidate) int64 {
	if e.plan.batch < 0 {
		return c.turn
	}
	if time.Duration(e.now-c.turn) >= e.plan.profile.Batch.For {
		return math.MinInt64/2 + c.turn/2 // before all numbers; ties go by age
	}
	// Positive and negative numbers are shrunk so far that all of them are above the turns of those who waited long.
	return max(0, sortable(c.middle(e.plan.batch)))/2 + min(0, sortable(c.middle(e.plan.batch)))/4
}

// sortable maps numbers to integers of the same order.
func sortable(x float64) int64 {
	bits := int64(math.Float64bits(x))
	if bits < 0 {
		return math.MinInt64 - bits
	}
	return bits
}

// setTimer remembers when time alone changes what a candidate's search may find.
func (e *Engine) setTimer(c *candidate) {
	at := int64(math.MaxInt64)
	if int(c.moment) < len(e.plan.moments) {
		at = c.created + int64(e.plan.moments[c.moment])
	}
	if c.searchAt > 0 {
		at = min(at, c.searchAt)
	}
	// From then on the seed comes before those in the order of the batch.
	if first := c.turn + int64(e.plan.profile.Batch.For); e.plan.batch >= 0 && first > e.now {
		at = min(at, first)
	}
	if at == math.MaxInt64 {
		e.timers.remove(c)
		return
	}
	e.timers.put(c, at)
}

// autofills reports whether a candidate has waited so long that its players take any role, and they do not yet.
func (e *Engine) autofills(c *candidate) bool {
	after := e.plan.profile.Autofill
	return after > 0 && !c.autofilled && e.ageOf(c) >= after
}

// autofill puts a waiting candidate at the place of one whose players take any role: seeds may want it now.
func (e *Engine) autofill(c *candidate) {
	e.leave(c)
	e.plan.takeAnyRole(c)
	e.enter(c)
	e.dirtyAround(c)
}

// tick makes the seeds dirty whose moment has come.
func (e *Engine) tick() {
	for e.timers.len() > 0 && e.timers.items[0].key <= e.now {
		c := e.timers.items[0].c
		c.searchAt = 0
		if e.autofills(c) {
			e.autofill(c)
		}
		if next := int16(e.plan.momentAfter(e.ageOf(c))); next != c.moment {
			c.moment, c.tries = next, 0
		}
		e.setTimer(c)
		e.markDirty(c)
	}
}

// reach returns how far the window of a seed extends from its own numbers, after so many steps of the pivot's rule.
func (p *pivot) reach(step int) float64 {
	if p.rule == nil || p.factor == 0 {
		return math.Inf(1)
	}
	lim := &p.rule.base
	if step > 0 {
		lim = &p.rule.steps[step-1].Limits
	}
	if lim.Ended {
		return math.Inf(1)
	}
	return float64(p.factor * lim.Within)
}

// width returns within what range all keys of a match are, if the windows of its tickets have that reach.
func (p *pivot) width(reach float64) float64 {
	if p.rule != nil && p.rule.age == profile.Each { // two older tickets may be farther from each other than from the seed
		return 2 * reach
	}
	return reach
}

// widthAt is width for those of an age.
func (p *pivot) widthAt(age time.Duration) float64 { return p.width(p.reach(p.step(age))) }

// step returns how many steps of the pivot's rule an age has passed.
func (p *pivot) step(age time.Duration) int {
	if p.rule == nil {
		return 0
	}
	return p.rule.step(age)
}

// window returns the keys that a candidate may have beside c: of each player within reach of each other. Rounding must
// not exclude a candidate that the rule admits, so the window is a little wider; the rule itself is judged exactly.
func window(c *candidate, reach float64) (low, high float64) {
	if math.IsInf(reach, 1) {
		return math.Inf(-1), math.Inf(1)
	}
	margin := (math.Abs(c.low) + math.Abs(c.high) + reach) * 1e-15
	return c.high - reach - margin, c.low + reach + margin
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
	if math.IsInf(p.reach(int(c.step)), 1) {
		return float64(c.turn)
	}
	return c.key
}

func (w *windows) insert(p *pivot, c *candidate) { w.treeOf(int(c.step)).insert(windowKey(p, c), c) }

func (w *windows) remove(p *pivot, c *candidate) { w.treeOf(int(c.step)).remove(windowKey(p, c), c) }

// holding calls f with the seeds whose window may hold the newcomer until f returns false: those that passed the most
// steps first, for they waited longest, and of those the nearest, or the first in turn if their windows have no end.
func (w *windows) holding(p *pivot, newcomer *candidate, f func(*candidate) bool) {
	for step := len(w.byStep) - 1; step >= 0; step-- {
		t := &w.byStep[step]
		middle := newcomer.key
		low, high := window(newcomer, p.reach(step))
		if math.IsInf(high, 1) {
			middle = math.Inf(-1)
		}
		seeds := newWalk(t, middle, low, high)
		for c := seeds.next(); c != nil; c = seeds.next() {
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
	active            bool
	idle              bool // until the next Run, which sets when the round begins
	needsAnotherRound bool // something changed since it began
	// when it last tried seeds; for a round that has not begun, sweepEvery before it begins
	last int64
	from *candidate // the last one it tried; nil: none
}

// The sweep goes on every so often, over so many seeds, and after a pause over those of a second at most.
const (
	sweepEvery = time.Second / 16
	sweepSeeds = 256
	sweepMost  = 16 * sweepSeeds
)

// begin starts the sweep with the next Run, or adds a round to a running one.
func (s *sweep) begin() {
	if s.active {
		s.needsAnotherRound = true
		return
	}
	*s = sweep{active: true, idle: true}
}

// roundEvery is the time between the beginnings of two rounds. A seed that found nothing in one round is unlikely to
// find something sooner, since newcomers search for themselves. Rounds begin at full seconds, so that their times do
// not depend on earlier decisions, and a replay that begins later has the same rounds.
const roundEvery = time.Second

// round schedules the next round at the next full second.
func (s *sweep) round(now int64) {
	*s = sweep{active: true, last: (now/int64(roundEvery)+1)*int64(roundEvery) - int64(sweepEvery)}
}

// run is called at the beginning of a Run.
func (s *sweep) run(now int64) {
	if s.idle {
		s.round(now)
	}
}

// beginAfter starts the sweep later, unless it goes on already.
func (s *sweep) beginAfter(now int64, d time.Duration) {
	if !s.active {
		*s = sweep{active: true, last: now + int64(d-sweepEvery)}
	}
}

// seedsDue returns how many seeds may be tried by now.
func (s *sweep) seedsDue(now int64) int {
	if !s.active || s.idle || now < s.last {
		return 0
	}
	return int(min(sweepMost, (now-s.last)/int64(sweepEvery)*sweepSeeds))
}

// end follows the last candidate.
func (s *sweep) end(now int64) {
	again := s.needsAnotherRound
	s.active, s.from = false, nil
	if again {
		s.round(now)
	}
}
