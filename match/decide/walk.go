package decide

import "math"

// walk goes through the entries of a tree with keys from low to high, outward from middle: the nearest first, of equally
// near ones the oldest. Without a pivot, keys are ages and the middle is -Inf: the oldest come first.
type walk struct {
	tree              *tree
	middle, low, high float64
	regions           uint64   // leaves where nobody measured any of them are left out
	traits            []uint64 // leaves that have none of these sets are left out; nil: no leaf is
	right             cursor   // the next entry with a key of at least middle

	// Entries of equal keys are in order of age, so those below the middle come in groups of a key: the next of the group, its
	// end, and its start.
	left, leftEnd, leftStart cursor
}

func newWalk(t *tree, middle, low, high float64) walk {
	at := t.seek(max(middle, low))
	return walk{tree: t, middle: middle, low: low, high: high, regions: everywhere, right: at, left: at, leftEnd: at, leftStart: at}
}

// skips reports whether nobody of a leaf has the regions or the traits.
func (w *walk) skips(leaf int) bool {
	n := &w.tree.leaves[leaf].counts
	return w.regions != everywhere && n.regions&w.regions == 0 || w.traits != nil && !n.anySet(w.traits)
}

// next returns the next candidate, nil after the last.
func (w *walk) next() *candidate {
	l, hasLeft := w.peekLeft()
	r, hasRight := w.peekRight()
	switch {
	case hasLeft && (!hasRight || w.nearer(l, r)):
		w.left = w.tree.next(w.left)
		return l.c
	case hasRight:
		w.right = w.tree.next(w.right)
		return r.c
	}
	return nil
}

func (w *walk) nearer(l, r entry) bool {
	a, b := w.middle-l.key, r.key-w.middle
	return a < b || a == b && l.c.older(r.c)
}

func (w *walk) peekRight() (entry, bool) {
	for !w.tree.ended(w.right) && w.skips(w.right.leaf) {
		w.right = cursor{w.right.leaf + 1, 0}
	}
	if w.tree.ended(w.right) {
		return entry{}, false
	}
	e := w.tree.entry(w.right)
	return e, e.key <= w.high
}

func (w *walk) peekLeft() (entry, bool) {
	if w.left == w.leftEnd && !w.nextGroup() {
		return entry{}, false
	}
	return w.tree.entry(w.left), true
}

// nextGroup moves left to the group of the next lower key.
func (w *walk) nextGroup() bool {
	if math.IsInf(w.middle, -1) {
		return false
	}
	last, ok := w.tree.previous(w.leftStart)
	for ok && w.skips(last.leaf) {
		last, ok = w.tree.previous(cursor{last.leaf, 0})
	}
	if !ok || w.tree.entry(last).key < w.low {
		return false
	}
	w.leftEnd = w.tree.next(last)
	w.leftStart = w.groupStart(last)
	w.left = w.leftStart
	return true
}

// groupStart returns the first entry with the key of the given one. Most groups are small: a few steps back find it.
func (w *walk) groupStart(at cursor) cursor {
	key := w.tree.entry(at).key
	for range 8 {
		before, ok := w.tree.previous(at)
		if !ok || w.tree.entry(before).key != key {
			return at
		}
		at = before
	}
	return w.tree.seek(key)
}
