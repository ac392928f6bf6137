package decide

import (
	"math"
	"time"

	"github.com/lattice-director/director/match/profile"
)

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

// step returns how many steps of the pivot's rule an age has passed.
func (p *pivot) step(age time.Duration) int {
	if p.rule == nil {
		return 0
	}
	return p.rule.step(age)
}

// window returns the keys that a candidate may have beside c: of each player within reach of each other. Rounding must not
// exclude a candidate that the rule admits, so the window is a little wider; the rule itself is judged exactly.
func window(c *candidate, reach float64) (low, high float64) {
	if math.IsInf(reach, 1) {
		return math.Inf(-1), math.Inf(1)
	}
	margin := (math.Abs(c.low) + math.Abs(c.high) + reach) * 1e-15
	return c.high - reach - margin, c.low + reach + margin
}

// windows finds the seeds whose window holds a newcomer. Seeds are sorted by the steps that they have passed: those of equal
// steps have windows of equal width, so a range of their keys has all the windows that hold a given number.
type windows struct {
	byStep []tree // of candidates that are neither dirty nor stuck
}

func (w *windows) at(step int) *tree {
	for len(w.byStep) <= step {
		w.byStep = append(w.byStep, tree{})
	}
	return &w.byStep[step]
}

// windowKey is a candidate's key in the tree of its step. Windows without an end hold everybody: those are sorted by their turns.
func windowKey(p *pivot, c *candidate) float64 {
	if math.IsInf(p.reach(int(c.step)), 1) {
		return float64(c.turn)
	}
	return c.key
}

func (w *windows) insert(p *pivot, c *candidate) { w.at(int(c.step)).insert(windowKey(p, c), c) }

func (w *windows) remove(p *pivot, c *candidate) { w.at(int(c.step)).remove(windowKey(p, c), c) }

// holding calls f with the seeds whose window may hold the newcomer until f returns false: those that passed the most steps
// first, for they waited longest, and of those the nearest, or the first in turn if their windows have no end.
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
