package decide

import (
	"slices"
	"sort"
)

// leafSize is the greatest number of entries of a leaf: a leaf is searched and shifted within a few cache lines.
const leafSize = 128

// tree holds candidates in order of a number, then of age. It is a B-tree of two levels: a root, and leaves that also
// count what they hold, so that ranges are counted without looking at the candidates. With 200,000 candidates the root
// has some 3,000 leaves, which a range is summed over in about a microsecond.
type tree struct {
	leafTops    []entry // of each leaf the last entry
	leaves      []*leaf
	len         int
	totalCounts counts
}

type entry struct {
	sortKey float64
	c       *candidate
}

type leaf struct {
	entries []entry
	counts  counts
}

// counts are what a range of candidates has.
type counts struct {
	playerCount     int
	traitCounts     []int  // by trait: players that have it
	measuredRegions uint64 // measured by any of them; of a leaf also by some that left
}

func (n *counts) clear() { *n = counts{traitCounts: n.traitCounts[:0]} }

// addCandidate counts a candidate in (sign 1) or out (-1).
func (n *counts) addCandidate(c *candidate, sign int) {
	n.playerCount += sign * c.playerCount
	// Never taken back, since others may have measured the same: a walk may look into a leaf in vain, and misses nobody.
	n.measuredRegions |= c.measuredRegions
	for len(n.traitCounts) < len(c.traitCounts) {
		n.traitCounts = append(n.traitCounts, 0)
	}
	for trait, players := range c.traitCounts {
		n.traitCounts[trait] += sign * int(players)
	}
}

// countOf returns how many players have a trait.
func (n *counts) countOf(trait int) int {
	if trait >= len(n.traitCounts) {
		return 0
	}
	return n.traitCounts[trait]
}

// anySet reports whether the traits of one of the sets are all there.
func (n *counts) anySet(sets []uint64) bool {
	has := uint64(0)
	for trait, players := range n.traitCounts {
		if players > 0 {
			has |= traitBit(trait)
		}
	}
	return slices.ContainsFunc(sets, func(set uint64) bool { return set&^has == 0 })
}

// merge adds the counts of another range.
func (n *counts) merge(o *counts) {
	n.playerCount += o.playerCount
	n.measuredRegions |= o.measuredRegions
	for len(n.traitCounts) < len(o.traitCounts) {
		n.traitCounts = append(n.traitCounts, 0)
	}
	for trait, players := range o.traitCounts {
		n.traitCounts[trait] += players
	}
}

// precedes orders by key, then by age. An entry does not precede itself: the search for its place ends there.
func (a entry) precedes(b entry) bool {
	if a.sortKey != b.sortKey {
		return a.sortKey < b.sortKey
	}
	return a.c != b.c && a.c.isOlder(b.c)
}

// cursor is the place of an entry. The one after the last entry is the cursor of the leaf after the last.
type cursor struct{ leafIndex, entryIndex int }

// insert adds c under a key.
func (t *tree) insert(key float64, c *candidate) {
	e := entry{key, c}
	t.len++
	t.totalCounts.addCandidate(c, 1)
	if len(t.leaves) == 0 {
		t.leaves = append(t.leaves, &leaf{})
		t.leafTops = append(t.leafTops, e)
	}
	i := min(t.leafOf(e), len(t.leaves)-1) // beyond all entries: at the end of the last leaf
	l := t.leaves[i]
	l.entries = slices.Insert(l.entries, l.indexOf(e), e)
	l.counts.addCandidate(c, 1)
	t.leafTops[i] = l.entries[len(l.entries)-1]
	if len(l.entries) > leafSize {
		t.splitLeaf(i)
	}
}

// remove takes out c, which must be in the tree with that key.
func (t *tree) remove(key float64, c *candidate) {
	e := entry{key, c}
	i := t.leafOf(e)
	l := t.leaves[i]
	pos := l.indexOf(e)
	l.entries = slices.Delete(l.entries, pos, pos+1)
	l.counts.addCandidate(c, -1)
	t.len--
	t.totalCounts.addCandidate(c, -1)
	if len(l.entries) > 0 {
		t.leafTops[i] = l.entries[len(l.entries)-1]
	}
	t.joinLeaves(i)
}

// leafOf returns the leaf that e is or would be in; beyond the last if e comes after all entries.
func (t *tree) leafOf(e entry) int {
	return sort.Search(len(t.leafTops), func(i int) bool { return !t.leafTops[i].precedes(e) })
}

// indexOf returns the place where e is or would be.
func (l *leaf) indexOf(e entry) int {
	return sort.Search(len(l.entries), func(i int) bool { return !l.entries[i].precedes(e) })
}

// splitLeaf moves the upper half of a leaf into a new one behind it.
func (t *tree) splitLeaf(i int) {
	l := t.leaves[i]
	half := len(l.entries) / 2
	right := &leaf{entries: make([]entry, len(l.entries)-half, leafSize+1)}
	copy(right.entries, l.entries[half:])
	clear(l.entries[half:]) // else the array would keep tickets in memory that have left
	l.entries = l.entries[:half]
	l.recount()
	right.recount()
	t.leaves = slices.Insert(t.leaves, i+1, right)
	t.leafTops = slices.Insert(t.leafTops, i+1, right.entries[len(right.entries)-1])
	// The right half has the former top.
	t.leafTops[i] = l.entries[half-1]
}

// joinLeaves drops leaf i if it is empty and merges it with the next one if both are small.
func (t *tree) joinLeaves(i int) {
	if len(t.leaves[i].entries) == 0 {
		t.dropLeaf(i)
		return
	}
	// A merged leaf is at most half full, so that the next insertions do not split it at once.
	if i+1 == len(t.leaves) || len(t.leaves[i].entries)+len(t.leaves[i+1].entries) > leafSize/2 {
		return
	}
	l := t.leaves[i]
	l.entries = append(l.entries, t.leaves[i+1].entries...)
	l.recount()
	t.leafTops[i] = t.leafTops[i+1]
	t.dropLeaf(i + 1)
}

// dropLeaf takes out leaf i, which is empty or copied.
func (t *tree) dropLeaf(i int) {
	t.leaves = slices.Delete(t.leaves, i, i+1)
	t.leafTops = slices.Delete(t.leafTops, i, i+1)
}

// recount computes the counts of a leaf from its entries.
func (l *leaf) recount() {
	l.counts.clear()
	for i := range l.entries {
		l.counts.addCandidate(l.entries[i].c, 1)
	}
}

// seekKey returns the first entry whose key is at least key.
func (t *tree) seekKey(key float64) cursor {
	i := sort.Search(len(t.leafTops), func(i int) bool { return t.leafTops[i].sortKey >= key })
	if i == len(t.leaves) {
		return cursor{i, 0}
	}
	entries := t.leaves[i].entries
	return cursor{i, sort.Search(len(entries), func(j int) bool { return entries[j].sortKey >= key })}
}

// cursorAfter returns the first entry that comes after the candidate with that key, whether or not it is in the tree.
func (t *tree) cursorAfter(key float64, c *candidate) cursor {
	e := entry{key, c}
	i := sort.Search(len(t.leafTops), func(i int) bool { return e.precedes(t.leafTops[i]) })
	if i == len(t.leaves) {
		return cursor{i, 0}
	}
	entries := t.leaves[i].entries
	return cursor{i, sort.Search(len(entries), func(j int) bool { return e.precedes(entries[j]) })}
}

// isEnd reports whether a cursor is behind the last entry.
func (t *tree) isEnd(at cursor) bool { return at.leafIndex >= len(t.leaves) }

func (t *tree) entryAt(at cursor) entry { return t.leaves[at.leafIndex].entries[at.entryIndex] }

func (t *tree) nextCursor(at cursor) cursor {
	if at.entryIndex+1 == len(t.leaves[at.leafIndex].entries) {
		return cursor{at.leafIndex + 1, 0}
	}
	return cursor{at.leafIndex, at.entryIndex + 1}
}

// previousCursor returns the entry before at; ok is false at the first one.
func (t *tree) previousCursor(at cursor) (before cursor, ok bool) {
	if at.entryIndex > 0 {
		return cursor{at.leafIndex, at.entryIndex - 1}, true
	}
	if at.leafIndex == 0 {
		return at, false
	}
	return cursor{at.leafIndex - 1, len(t.leaves[at.leafIndex-1].entries) - 1}, true
}
