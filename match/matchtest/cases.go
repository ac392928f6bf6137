package matchtest

import (
	"slices"

	"github.com/lattice-director/director/match"
)

// Case is a pool, the fields of a ticket or a backfill, and whether the pool holds them.
type Case struct {
	Name   string
	Pool   match.Pool
	Fields match.Fields
	IsHeld bool
}

// Cases returns the edge cases of every filter. Names are unique, and all pools pass their Check.
func Cases() []Case {
	return slices.Concat(rangeCases(), doubleCases(), stringCases(), tagCases(), timeCases(), combinedCases())
}

// combinedCases returns cases with filters of several kinds, all of which must match.
func combinedCases() (cases []Case) {
	before, after := match.Moment{Seconds: 200}, match.Moment{Seconds: 100}
	pool := match.Pool{
		Doubles: []match.DoubleRange{{Arg: "level", Min: 1, Max: 9}},
		Strings: []match.StringEquals{{Arg: "mode", Value: "duel"}},
		Tags:    []string{"beta"}, CreatedBefore: &before, CreatedAfter: &after,
	}
	fieldsWith := func(change func(*match.Fields)) match.Fields {
		f := match.Fields{
			Doubles: map[string]float64{"level": 5}, Strings: map[string]string{"mode": "duel"},
			Tags: []string{"beta"}, Created: match.Moment{Seconds: 150},
		}
		change(&f)
		return f
	}
	return append(cases,
		Case{"no filters, no search fields", match.Pool{}, match.Fields{}, true},
		Case{"no filters, any search fields", match.Pool{}, fieldsWith(func(*match.Fields) {}), true},
		Case{"all filters choose", pool, fieldsWith(func(*match.Fields) {}), true},
		Case{"all but the range choose", pool, fieldsWith(func(f *match.Fields) { f.Doubles["level"] = 10 }), false},
		Case{"all but the string choose", pool, fieldsWith(func(f *match.Fields) { f.Strings["mode"] = "race" }), false},
		Case{"all but the tag choose", pool, fieldsWith(func(f *match.Fields) { f.Tags = nil }), false},
		Case{"all but created_before choose", pool, fieldsWith(func(f *match.Fields) { f.Created.Seconds = 200 }), false},
		Case{"all but created_after choose", pool, fieldsWith(func(f *match.Fields) { f.Created.Seconds = 100 }), false},
		Case{"only the time chooses", pool, match.Fields{Created: match.Moment{Seconds: 150}}, false},
	)
}
