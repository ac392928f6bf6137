package decide

// maxBucketColumns bounds the rules that divide candidates into buckets; further ones are judged like any other.
const maxBucketColumns = 4

// bucketKey has the values of the `same` rules that always hold.
type bucketKey [maxBucketColumns]atom

// bucket holds the waiting candidates that may meet at all.
type bucket struct {
	key        bucketKey
	pivotTree  tree // along the pivot
	windows    windows
	kindCounts map[kind]int // waiting candidates
}

// bucketOf returns the key of the bucket that a candidate belongs to.
func (pl *plan) bucketOf(c *candidate) bucketKey {
	var key bucketKey
	for i, column := range pl.bucketColumns {
		// A party whose values differ breaks the rule by itself and is in no match, whichever bucket it is in.
		key[i] = c.atomsOf(column)[0]
	}
	return key
}
