package decide

import "math"

// maxScanned bounds how many candidates a search looks at for those that can be with the seed.
const maxScanned = 2048

// walk goes through the entries of a tree with keys from low to high, outward from middle: the nearest first, of
// equally near ones the oldest. Where keys are turns, the middle is -Inf: the first in turn comes first.
type walk struct {
	tree                       *tree
	middleKey, lowKey, highKey float64
	wantedRegions              uint64   // leaves where nobody measured one of these regions are left out
	wantedTraits               []uint64 // leaves that have none of these sets of traits are left out; nil: no leaf is
	rightNext                  cursor   // the next entry with a key of at least middle

	// Entries of equal keys are in order of age, so those below the middle come in groups of a key: the next of the
	// group, its end, and its start.
	leftNext, leftEnd, leftStart cursor
}

func newWalk(t *tree, middle, low, high float64) walk {
	at := t.seekKey(max(middle, low))
	return walk{tree: t, middleKey: middle, lowKey: low, highKey: high, wantedRegions: everywhere, rightNext: at,
		leftNext: at, leftEnd: at, leftStart: at}
}

// skipsLeaf reports whether a leaf is left out because nobody in it is wanted.
func (w *walk) skipsLeaf(leaf int) bool {
	n := &w.tree.leaves[leaf].counts
	return w.wantedRegions != everywhere && n.measuredRegions&w.wantedRegions == 0 ||
		w.wantedTraits != nil && !n.anySet(w.wantedTraits)
}

// nextCandidate returns the next candidate, nil after the last.
func (w *walk) nextCandidate() *candidate {
	l, hasLeft := w.peekLeft()
	r, hasRight := w.peekRight()
	switch {
	case hasLeft && (!hasRight || w.isLeftNearer(l, r)):
		w.leftNext = w.tree.nextCursor(w.leftNext)
		return l.c
	case hasRight:
		w.rightNext = w.tree.nextCursor(w.rightNext)
		return r.c
	}
	return nil
}

// isLeftNearer compares the next entries of both sides; of two as near, the older one comes first.
func (w *walk) isLeftNearer(l, r entry) bool {
	a, b := w.middleKey-l.sortKey, r.sortKey-w.middleKey
	return a < b || a == b && l.c.isOlder(r.c)
}

// peekRight returns the next entry above the middle; false: the window has no further one. It passes leaves in which
// nobody is wanted.
func (w *walk) peekRight() (entry, bool) {
	for !w.tree.isEnd(w.rightNext) && w.skipsLeaf(w.rightNext.leafIndex) {
		w.rightNext = cursor{w.rightNext.leafIndex + 1, 0}
	}
	if w.tree.isEnd(w.rightNext) {
		return entry{}, false
	}
	e := w.tree.entryAt(w.rightNext)
	return e, e.sortKey <= w.highKey
}

// peekLeft returns the next entry below the middle; false: the window has no further one.
func (w *walk) peekLeft() (entry, bool) {
	if w.leftNext == w.leftEnd && !w.nextGroup() {
		return entry{}, false
	}
	return w.tree.entryAt(w.leftNext), true
}

// nextGroup moves the left side to the group of the next lower key, and reports whether the window has one.
func (w *walk) nextGroup() bool {
	// Without a pivot the walk begins below all keys, and only goes up.
	if math.IsInf(w.middleKey, -1) {
		return false
	}
	last, ok := w.tree.previousCursor(w.leftStart)
	for ok && w.skipsLeaf(last.leafIndex) {
		last, ok = w.tree.previousCursor(cursor{last.leafIndex, 0})
	}
	if !ok || w.tree.entryAt(last).sortKey < w.lowKey {
		return false
	}
	w.leftEnd = w.tree.nextCursor(last)
	w.leftStart = w.groupStart(last)
	w.leftNext = w.leftStart
	return true
}

// groupStart returns the first entry with the key of the entry at a cursor.
func (w *walk) groupStart(at cursor) cursor {
	key := w.tree.entryAt(at).sortKey
	// Most groups are small: a few steps back are cheaper than a search.
	for range 8 {
		before, ok := w.tree.previousCursor(at)
		if !ok || w.tree.entryAt(before).sortKey != key {
			return at
		}
		at = before
	}
	return w.tree.seekKey(key)
}
