package match

import "slices"

// Fields is what pools judge a ticket or a backfill by.
type Fields struct {
	Doubles map[string]float64 // any value may be there, NaN and infinities too
	Strings map[string]string
	Tags    []string // order and repetition do not matter
	Created Moment
}

// Pool chooses tickets and backfills: those that all of its filters choose. The zero value chooses everything.
type Pool struct {
	Doubles       []DoubleRange
	Strings       []StringEquals
	Tags          []string // all of these
	CreatedBefore *Moment  // strictly; nil for any time
	CreatedAfter  *Moment  // strictly; nil for any time
}

// DoubleRange chooses what has the double, within the range. A comparison with NaN is never true.
type DoubleRange struct {
	Arg      string
	Min, Max float64
	Exclude  Exclude
}

// Exclude says which ends do not belong to a range. Clients may send any number: with one that is not listed here the
// range is not looked at, and having the double is enough.
type Exclude int32

// The numbers are the wire's.
const (
	ExcludeNone Exclude = 0
	ExcludeMin  Exclude = 1
	ExcludeMax  Exclude = 2
	ExcludeBoth Exclude = 3
)

// StringEquals chooses what has the string, byte for byte the same.
type StringEquals struct {
	Arg, Value string
}

// Check refuses what a request must not ask. Errors: [Invalid].
func (p Pool) Check() error {
	if p.CreatedBefore != nil && !p.CreatedBefore.Valid() {
		return Invalid(".invalid created_before value")
	}
	if p.CreatedAfter != nil && !p.CreatedAfter.Valid() {
		return Invalid(".invalid created_after value")
	}
	return nil
}

// Holds tells whether the pool, which passed [Pool.Check], chooses what has these fields.
func (p Pool) Holds(f Fields) bool {
	if p.CreatedBefore != nil && !f.Created.Before(*p.CreatedBefore) ||
		p.CreatedAfter != nil && !p.CreatedAfter.Before(f.Created) {
		return false
	}
	for _, r := range p.Doubles {
		if x, ok := f.Doubles[r.Arg]; !ok || !r.holds(x) {
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

func (r DoubleRange) holds(x float64) bool {
	switch r.Exclude {
	case ExcludeNone:
		return r.Min <= x && x <= r.Max
	case ExcludeMin:
		return r.Min < x && x <= r.Max
	case ExcludeMax:
		return r.Min <= x && x < r.Max
	case ExcludeBoth:
		return r.Min < x && x < r.Max
	}
	return true
}
