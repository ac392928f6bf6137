package decide

import "math"

// windows finds the seeds whose window holds a newcomer. Seeds are sorted by the steps that they have passed: those of
// equal steps have windows of equal width, so a range of their keys has all the windows that hold a given number.
type windows struct {
	byStep []tree // of candidates that are neither dirty nor stuck
}

// treeOf returns the tree of the seeds that have passed so many steps.
func (w *windows) treeOf(step int) *tree {
	for len(w.byStep) <= step {
		w.byStep = append(w.byStep, tree{})
	}
	return &w.byStep[step]
}

// windowKey returns a candidate's key in the tree of its step. Seeds whose windows have no end, and so hold everybody,
// are sorted by their turns.
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

// eachHolding calls f with the seeds whose window may hold the newcomer until f returns false: those that passed the
// most steps first, for they waited longest, and of those the nearest, or the first in turn if their windows have no
// end.
func (w *windows) eachHolding(p *pivot, newcomer *candidate, f func(*candidate) bool) {
	for step := len(w.byStep) - 1; step >= 0; step-- {
		t := &w.byStep[step]
		middle := newcomer.pivotKey
		low, high := keyWindow(newcomer, p.reachAt(step))
		// These seeds are sorted by turn: from the first one on.
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
