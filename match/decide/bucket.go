package decide

import "math"

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
	offers  []offer      // what is known since its last change
}

// offer says whether candidates within a range of keys may meet a demand, wherever the range is.
type offer struct {
	width   float64
	players int // of the demand; its traits are always the same
	may     bool
}

// mayOffer reports whether some candidates within a range of the width may meet the demand. The answer is kept until the bucket changes.
func (b *bucket) mayOffer(width float64, d *demand, sum *counts) bool {
	if !d.metBy(&b.tree.total) {
		return false
	}
	if math.IsInf(width, 1) {
		return true
	}
	for _, o := range b.offers {
		if o.width == width && o.players == d.players {
			return o.may
		}
	}
	may := b.tree.offersWithin(math.Inf(-1), math.Inf(1), width, d, sum)
	b.offers = append(b.offers, offer{width, d.players, may})
	return may
}

func (b *bucket) changed() { b.offers = b.offers[:0] }

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
	b.changed()
	b.kinds[c.kind]++
	e.ages.insert(float64(c.created), c)
}

// leave takes a waiting candidate out of its bucket.
func (e *Engine) leave(c *candidate) {
	e.unwatch(c)
	b := c.bucket
	c.bucket = nil
	b.tree.remove(c.key, c)
	b.changed()
	e.ages.remove(float64(c.created), c)
	if b.kinds[c.kind]--; b.kinds[c.kind] == 0 {
		delete(b.kinds, c.kind)
	}
	if b.tree.len == 0 {
		delete(e.buckets, b.key)
	}
}
