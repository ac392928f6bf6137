package match

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"
)

// Row is what a store keeps of [Fields], so that it can answer a [Query] with an index. Texts are terms: hashes of one
// size, which can be indexed whatever the text is long and holds.
type Row struct {
	Created int64       // nanoseconds since 1970
	Terms   []uuid.UUID // one for each tag and for each string, each once
	Keys    []uuid.UUID // one for the name of each double, beside it
	Doubles []float64
}

// Query is what a [Pool] asks of rows. It holds a row when the row was created after After and before Before, has all of
// Terms, has all of Present among its keys, and for each range has a double of that key from Low to High. A store may take
// NaN for no number or, as Postgres does, for the greatest.
type Query struct {
	After, Before int64
	Terms         []uuid.UUID
	Present       []uuid.UUID
	Ranges        []QueryRange
}

// QueryRange has both its ends within it, and neither is NaN.
type QueryRange struct {
	Key       uuid.UUID
	Low, High float64
}

// Row gives what a store keeps of the fields. Slices are never nil.
func (f Fields) Row() Row {
	doubles := len(f.Doubles)
	r := Row{
		Created: f.Created.UnixNano(), Terms: make([]uuid.UUID, 0, len(f.Tags)+len(f.Strings)),
		Keys: make([]uuid.UUID, 0, doubles), Doubles: make([]float64, 0, doubles),
	}
	for _, tag := range f.Tags {
		r.Terms = append(r.Terms, term(tagTerm, "", tag))
	}
	for arg, s := range f.Strings {
		r.Terms = append(r.Terms, term(stringTerm, arg, s))
	}
	slices.SortFunc(r.Terms, compareTerms)
	r.Terms = slices.Compact(r.Terms)
	for _, arg := range slices.Sorted(maps.Keys(f.Doubles)) {
		r.Keys = append(r.Keys, term(doubleTerm, arg, ""))
		r.Doubles = append(r.Doubles, f.Doubles[arg])
	}
	return r
}

// Query gives what the pool asks, which holds the rows of those fields that the pool holds. Without some, the pool holds
// nothing whatever there is: one of its ranges has no number in it. Slices are never nil.
func (p Pool) Query() (q Query, some bool) {
	q = Query{After: math.MinInt64, Before: math.MaxInt64, Terms: []uuid.UUID{}, Present: []uuid.UUID{}, Ranges: []QueryRange{}}
	if p.CreatedAfter != nil {
		q.After = p.CreatedAfter.UnixNano()
	}
	if p.CreatedBefore != nil {
		q.Before = p.CreatedBefore.UnixNano()
	}
	for _, tag := range p.Tags {
		q.Terms = append(q.Terms, term(tagTerm, "", tag))
	}
	for _, e := range p.Strings {
		q.Terms = append(q.Terms, term(stringTerm, e.Arg, e.Value))
	}
	for _, r := range p.Doubles {
		key := term(doubleTerm, r.Arg, "")
		if r.Exclude < ExcludeNone || r.Exclude > ExcludeBoth {
			q.Present = append(q.Present, key)
			continue
		}
		low, high := r.ends()
		if !(low <= high) {
			return q, false
		}
		q.Ranges = append(q.Ranges, QueryRange{key, low, high})
	}
	return q, true
}

// ends gives the least and the greatest number in the range. Where there is none, low <= high is false.
func (r DoubleRange) ends() (low, high float64) {
	low, high = r.Min, r.Max
	if r.Exclude == ExcludeMin || r.Exclude == ExcludeBoth {
		low = next(low, math.Inf(1))
	}
	if r.Exclude == ExcludeMax || r.Exclude == ExcludeBoth {
		high = next(high, math.Inf(-1))
	}
	return low, high
}

// next is the number after x on the way to the end of all numbers, and NaN where x is that end already.
func next(x, end float64) float64 {
	if x == end {
		return math.NaN()
	}
	return math.Nextafter(x, end)
}

// The kinds of terms, so that a tag is not taken for a string.
const (
	tagTerm byte = iota + 1
	stringTerm
	doubleTerm
)

// term hashes a text with its kind and name. Half of a SHA-256 is enough: whoever wants two texts of one term has to try
// 2^64 of them.
func term(kind byte, name, text string) uuid.UUID {
	b := make([]byte, 0, 64)
	b = append(b, kind)
	b = binary.AppendUvarint(b, uint64(len(name)))
	b = append(b, name...)
	b = append(b, text...)
	sum := sha256.Sum256(b)
	return uuid.UUID(sum[:16])
}

func compareTerms(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }
