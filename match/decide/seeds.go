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

// mayMeet reports whether those whom a newcomer may meet have enough players, and enough with each trait, under the limits of the one that
// has waited longest.
func (e *Engine) mayMeet(newcomer *candidate) bool {
	oldest := e.ages.entry(cursor{}).c
	return e.offers(newcomer, max(e.ageOf(oldest), e.ageOf(newcomer)))
}

// mayFill reports whether the window of a seed has enough players, and enough with each trait, who may be in one match.
func (e *Engine) mayFill(c *candidate) bool {
	return e.offers(c, e.ageOf(c))
}

func (e *Engine) offers(c *candidate, age time.Duration) bool {
	p := &e.plan.pivot
	reach := p.reach(p.step(age))
	need := e.demandAt(age)
	width := p.width(reach)
	return c.bucket.mayOffer(width, &need, &e.scratch) && c.bucket.tree.offers(c, reach, width, &need, &e.scratch)
}

// fewBuckets bounds the buckets of which mayMatch asks each.
const fewBuckets = 16

// mayMatch reports whether the candidates of any bucket may meet the demand of a match, under the widest limits that one of them has now. With
// many buckets it gives the answer that promises nothing.
func (e *Engine) mayMatch() bool {
	if len(e.buckets) > fewBuckets || e.plan.profile.When != profile.Never || e.ages.len == 0 {
		return true
	}
	age := e.ageOf(e.ages.entry(cursor{}).c)
	width, need := e.plan.pivot.width(e.plan.pivot.reach(e.plan.pivot.step(age))), e.demandAt(age)
	for _, b := range e.buckets {
		if b.mayOffer(width, &need, &e.scratch) {
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
	c.due = 0
	e.dirty.put(c, e.turn(c))
}

// rest follows a turn without a match: the seed watches its window, unless it is stuck, and waits for its next moment. A search that
// ran out of steps is repeated soon, with more of them, until the seed is stuck.
func (e *Engine) rest(c *candidate, searched bool) {
	age := e.ageOf(c)
	if next := int16(e.plan.momentAfter(age)); next != c.moment {
		c.moment, c.tries = next, 0
	}
	if searched && c.tries < stuckAfter {
		c.tries++
		if e.search.cut {
			c.due = e.now + int64(retryAfter)
		}
	}
	e.setTimer(c)
	e.unwatch(c)
	if c.tries < stuckAfter {
		c.step, c.watching = int16(e.plan.pivot.step(age)), true
		c.bucket.windows.insert(&e.plan.pivot, c)
	}
}

// retryAfter is the time between two searches of a seed of which the first ran out of steps: all of them are within a second.
const retryAfter = time.Second / stuckAfter

func (e *Engine) unwatch(c *candidate) {
	if c.watching {
		c.watching = false
		c.bucket.windows.remove(&e.plan.pivot, c)
	}
}

// headStart returns by how much a ticket takes its turn earlier than its age says. It is bounded, so that everybody's turn comes: a ticket
// is overtaken only by those that arrive within the greatest head start after it.
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

// turn orders the dirty seeds: the oldest first, or those with a head start. With a batch, seeds that are younger than it wait for all older
// ones and come in the order of its number, so that neighbours follow each other.
func (e *Engine) turn(c *candidate) int64 {
	if e.plan.batch < 0 {
		return c.turn
	}
	if time.Duration(e.now-c.turn) >= e.plan.profile.Batch.For {
		return math.MinInt64/2 + c.turn/2 // before all numbers; ties go by age
	}
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
	if c.due > 0 {
		at = min(at, c.due)
	}
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
		c.due = 0
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
