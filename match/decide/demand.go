package decide

import "math"

// demand is what a match needs at least.
type demand struct {
	players int
	traits  []int // by trait of the plan
}

// metBy reports whether so many players with such traits may be enough. A player that would take several roles counts for
// each, so that true promises nothing.
func (d *demand) metBy(n *counts) bool {
	if n.players < d.players {
		return false
	}
	for trait, need := range d.traits {
		if need > 0 && (trait >= len(n.traits) || n.traits[trait] < need) {
			return false
		}
	}
	return true
}

// offers reports whether candidates in the window of c, all within a range of the width, may meet the demand.
func (t *tree) offers(c *candidate, reach, width float64, d *demand, sum *counts) bool {
	low, high := window(c, reach)
	if !d.metBy(&t.total) || !t.offersBetween(low, high, d, sum) {
		return false
	}
	if math.IsInf(reach, 1) || width >= high-low {
		return true
	}
	return t.offersWithin(low, high, width+(high-low)*1e-12, d, sum)
}

// offersBetween reports whether the candidates with keys from low to high may meet the demand. It stops counting at the leaf where
// they do.
func (t *tree) offersBetween(low, high float64, d *demand, sum *counts) bool {
	sum.clear()
	for at := t.seek(low); !t.ended(at); at = (cursor{at.leaf + 1, 0}) {
		l := t.leaves[at.leaf]
		if at.pos == 0 && t.tops[at.leaf].key <= high {
			sum.merge(&l.counts)
		} else {
			l.countUpTo(at.pos, high, sum)
		}
		if d.metBy(sum) {
			return true
		}
		if t.tops[at.leaf].key > high {
			return false
		}
	}
	return d.metBy(sum)
}

func (l *leaf) countUpTo(from int, high float64, sum *counts) {
	for _, e := range l.entries[from:] {
		if e.key > high {
			return
		}
		sum.add(e.c, 1)
	}
}

// offersWithin reports whether candidates with keys from low to high and within a range of the width may meet the demand. After some
// thousand candidates it gives the answer that promises nothing.
func (t *tree) offersWithin(low, high, width float64, d *demand, sum *counts) bool {
	sum.clear()
	first := t.seek(low)
	steps := 0
	for at := first; !t.ended(at) && t.entry(at).key <= high; at = t.next(at) {
		e := t.entry(at)
		for ; t.entry(first).key < e.key-width; first = t.next(first) {
			sum.add(t.entry(first).c, -1)
		}
		sum.add(e.c, 1)
		if steps++; d.metBy(sum) || steps == maxScanned {
			return true
		}
	}
	return false
}
