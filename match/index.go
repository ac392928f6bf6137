package match

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"
)

// Row is the indexable form of [Fields] that a store keeps to answer a [Query]. Texts become terms: hashes of a fixed
// size, which can be indexed for texts of any length and content.
type Row struct {
	Created int64       // nanoseconds since 1970
	Terms   []uuid.UUID // one for each tag and each string, without duplicates
	Keys    []uuid.UUID // one for the name of each double, in the order of Doubles
	Doubles []float64
}

// Query is a [Pool] in terms of rows. It holds a row that was created after After and before Before, has all of Terms,
// has all of Present among its keys, and has for each range a double of that key from Low to High. A store may treat
// NaN as outside every range or, as Postgres does, as greater than all numbers.
type Query struct {
	CreatedAfter, CreatedBefore int64
	Terms                       []uuid.UUID
	Present                     []uuid.UUID
	Ranges                      []QueryRange
}

// QueryRange includes both ends. Neither is NaN.
type QueryRange struct {
	Key       uuid.UUID
	Low, High float64
}

// Row returns the indexable form of the fields. Its slices are never nil.
func (f Fields) Row() Row {
	doubles := len(f.Doubles)
	r := Row{
		Created: f.Created.UnixNano(), Terms: make([]uuid.UUID, 0, len(f.Tags)+len(f.Strings)),
		Keys: make([]uuid.UUID, 0, doubles), Doubles: make([]float64, 0, doubles),
	}
	for _, tag := range f.Tags {
		r.Terms = append(r.Terms, hashTerm(tagTerm, "", tag))
	}
	for arg, s := range f.Strings {
		r.Terms = append(r.Terms, hashTerm(stringTerm, arg, s))
	}
	slices.SortFunc(r.Terms, compareTerms)
	r.Terms = slices.Compact(r.Terms)
	for _, arg := range slices.Sorted(maps.Keys(f.Doubles)) {
		r.Keys = append(r.Keys, hashTerm(doubleTerm, arg, ""))
		r.Doubles = append(r.Doubles, f.Doubles[arg])
	}
	return r
}

// Query returns the query that holds the rows of exactly those fields that the pool holds. possible is false if the
// pool holds nothing at all, because one of its ranges is empty. Slices are never nil.
func (p Pool) Query() (q Query, possible bool) {
	q = Query{CreatedAfter: math.MinInt64, CreatedBefore: math.MaxInt64, Terms: []uuid.UUID{}, Present: []uuid.UUID{},
		Ranges: []QueryRange{}}
	if p.CreatedAfter != nil {
		q.CreatedAfter = p.CreatedAfter.UnixNano()
	}
	if p.CreatedBefore != nil {
		q.CreatedBefore = p.CreatedBefore.UnixNano()
	}
	for _, tag := range p.Tags {
		q.Terms = append(q.Terms, hashTerm(tagTerm, "", tag))
	}
	for _, e := range p.Strings {
		q.Terms = append(q.Terms, hashTerm(stringTerm, e.Arg, e.Value))
	}
	for _, r := range p.Doubles {
		key := hashTerm(doubleTerm, r.Arg, "")
		// The range is ignored, and the double must be there: see Exclude.
		if r.Exclude < ExcludeNone || r.Exclude > ExcludeBoth {
			q.Present = append(q.Present, key)
			continue
		}
		low, high := r.closedBounds()
		// Not written as low > high, so that NaN, which compares with nothing, makes the range empty.
		if !(low <= high) {
			return q, false
		}
		q.Ranges = append(q.Ranges, QueryRange{key, low, high})
	}
	return q, true
}

// closedBounds returns the lowest and the highest number in the range. For an empty range, low <= high is false.
func (r DoubleRange) closedBounds() (low, high float64) {
	low, high = r.Min, r.Max
	if r.Exclude == ExcludeMin || r.Exclude == ExcludeBoth {
		low = nextFloat(low, math.Inf(1))
	}
	if r.Exclude == ExcludeMax || r.Exclude == ExcludeBoth {
		high = nextFloat(high, math.Inf(-1))
	}
	return low, high
}

// nextFloat returns the number after x in the direction of end, which is an infinity, and NaN if x is end.
func nextFloat(x, end float64) float64 {
	if x == end {
		return math.NaN()
	}
	return math.Nextafter(x, end)
}

// The kinds of terms. They keep the term of a tag apart from that of a string with the same text.
const (
	tagTerm byte = iota + 1
	stringTerm
	doubleTerm
)

// hashTerm hashes a text with its kind and name. Half of a SHA-256 is enough: finding two texts with the same term
// takes about 2^64 attempts.
func hashTerm(kind byte, name, text string) uuid.UUID {
	b := make([]byte, 0, 64)
	b = append(b, kind)
	b = binary.AppendUvarint(b, uint64(len(name)))
	b = append(b, name...)
	b = append(b, text...)
	sum := sha256.Sum256(b)
	return uuid.UUID(sum[:16])
}

func compareTerms(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }
