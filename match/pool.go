package match

import "slices"

// Fields holds the fields of a ticket or a backfill that pools filter by.
type Fields struct {
	Doubles map[string]float64 // any values, NaN and infinities too
	Strings map[string]string
	Tags    []string // order and repetition do not matter
	Created Moment
}

// Pool holds the tickets and backfills that match all of its filters. The zero value holds everything.
type Pool struct {
	Doubles       []DoubleRange
	Strings       []StringEquals
	Tags          []string // all are required
	CreatedBefore *Moment  // exclusive; nil for any time
	CreatedAfter  *Moment  // exclusive; nil for any time
}

// DoubleRange matches fields that have the double with a value in the range. NaN is in no range.
type DoubleRange struct {
	Arg      string
	Min, Max float64
	Exclude  Exclude
}

// Exclude selects the ends that a range excludes. Clients may send any number: one that is not listed below makes the
// range be ignored, so that any value of the double matches.
type Exclude int32

// The values of Open Match's protocol.
const (
	ExcludeNone Exclude = 0
	ExcludeMin  Exclude = 1
	ExcludeMax  Exclude = 2
	ExcludeBoth Exclude = 3
)

// StringEquals matches fields that have the string with exactly this value, byte for byte.
type StringEquals struct {
	Arg, Value string
}

// Check returns an error for a pool that a request must not have. Errors: [Invalid].
func (p Pool) Check() error {
	if p.CreatedBefore != nil && !p.CreatedBefore.Valid() {
		return Invalid(".invalid created_before value")
	}
	if p.CreatedAfter != nil && !p.CreatedAfter.Valid() {
		return Invalid(".invalid created_after value")
	}
	return nil
}

// Holds reports whether all filters of the pool match the fields. The pool must have passed [Pool.Check].
func (p Pool) Holds(f Fields) bool {
	if p.CreatedBefore != nil && !f.Created.Before(*p.CreatedBefore) ||
		p.CreatedAfter != nil && !p.CreatedAfter.Before(f.Created) {
		return false
	}
	for _, r := range p.Doubles {
		if x, ok := f.Doubles[r.Arg]; !ok || !r.holdsNumber(x) {
			return false
		}
	}
	for _, e := range p.Strings {
		if s, ok := f.Strings[e.Arg]; !ok || s != e.Value {
			return false
		}
	}
	for _, tag := range p.Tags {
		if !slices.Contains(f.Tags, tag) {
			return false
		}
	}
	return true
}

// holdsNumber reports whether a number is in the range.
func (r DoubleRange) holdsNumber(x float64) bool {
	switch r.Exclude {
	case ExcludeNone:
		return r.Min <= x && x <= r.Max
	case ExcludeMin:
		return r.Min < x && x <= r.Max
	case ExcludeMax:
		return r.Min <= x && x < r.Max
	case ExcludeBoth:
		return r.Min < x && x < r.Max
	default:
		return true // see Exclude
	}
}
