package decide

import (
	"math"
)

// maxBucketColumns bounds the rules that divide candidates into buckets; further ones are judged like any other.
const maxBucketColumns = 4

// bucketKey has the values of the `same` rules that always hold.
type bucketKey [maxBucketColumns]atom

// bucket holds the waiting candidates that may meet at all.
type bucket struct {
	key     bucketKey
	tree    tree // along the pivot
	windows windows
	kinds   map[kind]int // waiting candidates
}

// kind tells candidates apart that fill different places of a match.
type kind struct {
	size   int
	traits uint64
}

// traitBit is the trait's place in a set; those beyond 63 share one.
func traitBit(trait int) uint64 { return 1 << min(trait, 63) }

// kindOf returns the kind of a candidate whose traits are known.
func kindOf(c *candidate) kind {
	k := kind{size: c.size}
	for trait, n := range c.traits {
		if n > 0 {
			k.traits |= traitBit(trait)
		}
	}
	return k
}

func (pl *plan) bucketOf(c *candidate) bucketKey {
	var key bucketKey
	for i, column := range pl.buckets {
		// A party whose values differ breaks the rule by itself and is in no match, whichever bucket it is in.
		key[i] = c.atomsOf(column)[0]
	}
	return key
}

// enter adds a waiting candidate to its bucket.
func (e *Engine) enter(c *candidate) {
	key := e.plan.bucketOf(c)
	b := e.buckets[key]
	if b == nil {
		b = &bucket{key: key, kinds: map[kind]int{}}
		e.buckets[key] = b
	}
	c.bucket = b
	b.tree.insert(c.key, c)
	b.kinds[c.kind]++
	e.ages.insert(float64(c.created), c)
}

// leave takes a waiting candidate out of its bucket.
func (e *Engine) leave(c *candidate) {
	e.unwatch(c)
	b := c.bucket
	c.bucket = nil
	b.tree.remove(c.key, c)
	e.ages.remove(float64(c.created), c)
	if b.kinds[c.kind]--; b.kinds[c.kind] == 0 {
		delete(b.kinds, c.kind)
	}
	if b.tree.len == 0 {
		delete(e.buckets, b.key)
	}
}

// demand is what a match needs at least.
type demand struct {
	players int
	traits  []int // by trait of the plan
}

// metBy reports whether so many players with such traits may be enough. A player that would take several roles counts
// for each, so that true promises nothing.
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
	// The keys are rounded, so the range is a little wider than the rule allows: this count may cause a search in
	// vain, but must not prevent one that would find a match.
	return t.offersWithin(low, high, width+(high-low)*1e-12, d, sum)
}

// offersAnywhere reports whether some candidates within a range of the width may meet the demand, wherever the range is.
func (t *tree) offersAnywhere(width float64, d *demand, sum *counts) bool {
	if !d.metBy(&t.total) {
		return false
	}
	return math.IsInf(width, 1) || t.offersWithin(math.Inf(-1), math.Inf(1), width, d, sum)
}

// offersBetween reports whether the candidates with keys from low to high may meet the demand. It stops counting at the
// leaf where they do.
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

// offersWithin reports whether candidates with keys from low to high and within a range of the width may meet the
// demand. After some thousand candidates it gives the answer that promises nothing.
func (t *tree) offersWithin(low, high, width float64, d *demand, sum *counts) bool {
	if trait := t.scarcest(d); trait >= 0 {
		return t.offersAround(trait, low, high, width, d, sum)
	}
	sum.clear()
	first := t.seek(low)
	steps := 0
	for at := first; !t.ended(at) && t.entry(at).key <= high; at = t.next(at) {
		e := t.entry(at)
		// A sliding range: its lower end follows at the distance of the width, so that sum has what lies between both
		// ends.
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

// scarcest returns the trait of which the fewest players wait, of those that a match needs; -1: it needs none.
func (t *tree) scarcest(d *demand) int {
	scarcest := -1
	for trait, need := range d.traits {
		if need > 0 && (scarcest < 0 || t.total.traits[trait] < t.total.traits[scarcest]) {
			scarcest = trait
		}
	}
	return scarcest
}

// maxScarce bounds how many candidates with a scarce trait are compared with each other.
const maxScarce = 64

// offersAround is offersWithin for a match that needs a trait: it looks around each candidate that has it and may be
// with enough others that do. Where many have it, it gives the answer that promises nothing.
func (t *tree) offersAround(trait int, low, high, width float64, d *demand, sum *counts) bool {
	var found [maxScarce]*candidate
	scarce := t.having(trait, low, high, found[:0])
	if len(scarce) == maxScarce {
		return true
	}
	for _, c := range scarce {
		has := 0
		for _, o := range scarce {
			if max(c.high, o.high)-min(c.low, o.low) <= width {
				has += int(o.traits[trait])
			}
		}
		if has >= d.traits[trait] && t.offersBetween(max(low, c.high-width), min(high, c.low+width), d, sum) {
			return true
		}
	}
	return false
}

// having appends the candidates with keys from low to high that have a trait, up to the capacity.
func (t *tree) having(trait int, low, high float64, to []*candidate) []*candidate {
	for at := t.seek(low); !t.ended(at) && len(to) < cap(to); {
		// The leaf's count says that nobody in it has the trait: no entry has to be read.
		if at.pos == 0 && t.leaves[at.leaf].counts.countOf(trait) == 0 {
			at = cursor{at.leaf + 1, 0}
			continue
		}
		e := t.entry(at)
		if e.key > high {
			break
		}
		if e.c.traits[trait] > 0 {
			to = append(to, e.c)
		}
		at = t.next(at)
	}
	return to
}
