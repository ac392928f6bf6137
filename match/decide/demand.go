package decide

import "math"

// demand is what a match needs at least.
type demand struct {
	minPlayers int
	minByTrait []int // by trait of the plan
}

// mayBeMetBy reports whether so many players with such traits may be enough. A player that would take several roles
// counts for each, so that they need not be enough.
func (d *demand) mayBeMetBy(n *counts) bool {
	if n.playerCount < d.minPlayers {
		return false
	}
	for trait, need := range d.minByTrait {
		// Nobody in the range has a trait beyond those that were counted.
		if need > 0 && (trait >= len(n.traitCounts) || n.traitCounts[trait] < need) {
			return false
		}
	}
	return true
}

// offersInWindow reports whether candidates in the window of c, all within a range of the width, may meet the demand.
func (t *tree) offersInWindow(c *candidate, reach, width float64, d *demand, sum *counts) bool {
	low, high := keyWindow(c, reach)
	// The cheap checks come first: the whole bucket, then the leaves of the window.
	if !d.mayBeMetBy(&t.totalCounts) || !t.offersBetween(low, high, d, sum) {
		return false
	}
	if math.IsInf(reach, 1) || width >= high-low {
		return true
	}
	// The keys are rounded, so the range is a little wider than the rule allows: the count may cause a search in vain,
	// but must not prevent one that would find a match.
	return t.offersWithin(low, high, width+float64((high-low)*1e-12), d, sum)
}

// offersAnywhere reports whether some candidates within a range of the width may meet the demand, wherever the range
// is.
func (t *tree) offersAnywhere(width float64, d *demand, sum *counts) bool {
	if !d.mayBeMetBy(&t.totalCounts) {
		return false
	}
	return math.IsInf(width, 1) || t.offersWithin(math.Inf(-1), math.Inf(1), width, d, sum)
}

// offersBetween reports whether the candidates with keys from low to high may meet the demand. It stops counting at the
// leaf where they do.
func (t *tree) offersBetween(low, high float64, d *demand, sum *counts) bool {
	sum.clear()
	for at := t.seekKey(low); !t.isEnd(at); at = (cursor{at.leafIndex + 1, 0}) {
		l := t.leaves[at.leafIndex]
		// A leaf that lies in the range as a whole is counted without a look at its entries.
		if at.entryIndex == 0 && t.leafTops[at.leafIndex].sortKey <= high {
			sum.merge(&l.counts)
		} else {
			l.countUpTo(at.entryIndex, high, sum)
		}
		if d.mayBeMetBy(sum) {
			return true
		}
		if t.leafTops[at.leafIndex].sortKey > high {
			return false
		}
	}
	return d.mayBeMetBy(sum)
}

// countUpTo adds the entries from an index on whose keys are at most high.
func (l *leaf) countUpTo(from int, high float64, sum *counts) {
	for _, e := range l.entries[from:] {
		if e.sortKey > high {
			return
		}
		sum.addCandidate(e.c, 1)
	}
}

// offersWithin reports whether candidates with keys from low to high and within a range of the width may meet the
// demand. After maxScanned candidates it returns true.
func (t *tree) offersWithin(low, high, width float64, d *demand, sum *counts) bool {
	// Few have the scarcest trait: looking around each of them is shorter than sliding over everybody.
	if trait := t.scarcestTrait(d); trait >= 0 {
		return t.offersAround(trait, low, high, width, d, sum)
	}
	sum.clear()
	first := t.seekKey(low)
	steps := 0
	for at := first; !t.isEnd(at) && t.entryAt(at).sortKey <= high; at = t.nextCursor(at) {
		e := t.entryAt(at)
		// The range slides: its lower end follows at the distance of the width, and sum has what lies between its ends.
		for ; t.entryAt(first).sortKey < e.sortKey-width; first = t.nextCursor(first) {
			sum.addCandidate(t.entryAt(first).c, -1)
		}
		sum.addCandidate(e.c, 1)
		steps++
		if d.mayBeMetBy(sum) || steps == maxScanned {
			return true
		}
	}
	return false
}

// scarcestTrait returns the trait of which the fewest players wait, of those that a match needs; -1: it needs none.
func (t *tree) scarcestTrait(d *demand) int {
	scarcest := -1
	for trait, need := range d.minByTrait {
		if need > 0 && (scarcest < 0 || t.totalCounts.traitCounts[trait] < t.totalCounts.traitCounts[scarcest]) {
			scarcest = trait
		}
	}
	return scarcest
}

// maxScarce bounds how many candidates with a scarce trait are compared with each other.
const maxScarce = 64

// offersAround is offersWithin for a match that needs a trait: it looks around each candidate that has the trait and may
// be with enough others that do. Where maxScarce candidates have the trait, it returns true.
func (t *tree) offersAround(trait int, low, high, width float64, d *demand, sum *counts) bool {
	var found [maxScarce]*candidate
	scarce := t.appendHaving(trait, low, high, found[:0])
	if len(scarce) == maxScarce {
		return true
	}
	for _, c := range scarce {
		players := 0 // that have the trait
		for _, o := range scarce {
			if max(c.pivotHigh, o.pivotHigh)-min(c.pivotLow, o.pivotLow) <= width {
				players += int(o.traitCounts[trait])
			}
		}
		if players >= d.minByTrait[trait] &&
			t.offersBetween(max(low, c.pivotHigh-width), min(high, c.pivotLow+width), d, sum) {
			return true
		}
	}
	return false
}

// appendHaving appends the candidates with keys from low to high that have a trait, up to the capacity.
func (t *tree) appendHaving(trait int, low, high float64, to []*candidate) []*candidate {
	for at := t.seekKey(low); !t.isEnd(at) && len(to) < cap(to); {
		// By the leaf's counts nobody in it has the trait: no entry has to be read.
		if at.entryIndex == 0 && t.leaves[at.leafIndex].counts.countOf(trait) == 0 {
			at = cursor{at.leafIndex + 1, 0}
			continue
		}
		e := t.entryAt(at)
		if e.sortKey > high {
			break
		}
		if e.c.traitCounts[trait] > 0 {
			to = append(to, e.c)
		}
		at = t.nextCursor(at)
	}
	return to
}
