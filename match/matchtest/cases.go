package matchtest

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/lattice-director/director/match"
)

// Cases returns the edge cases of every filter. Names are unique, and all pools pass their Check.
func Cases() []Case {
	return slices.Concat(rangeCases(), doubleCases(), stringArgs(), tagCases(), timeCases(), combinedCases())
}

var (
	nan, inf = math.NaN(), math.Inf(1)
	// unlisted holds values of Exclude that the protocol does not list but a client may send.
	unlisted = []match.Exclude{4, -1, math.MaxInt32, math.MinInt32}
)

// rangeCases combines values with each way to exclude the ends: + is in the range, - is not.
func rangeCases() (cases []Case) {
	around := func(lo, hi float64) []float64 {
		return []float64{math.Nextafter(lo, -inf), lo, lo + (hi-lo)/2, hi, math.Nextafter(hi, inf)}
	}
	for _, row := range []struct {
		name                  string
		min, max              float64
		values                []float64
		none, low, high, both string // ExcludeNone, ExcludeMin, ExcludeMax, ExcludeBoth
	}{
		{"between 1 and 2", 1, 2, around(1, 2), "-+++-", "--++-", "-++--", "--+--"},
		{"across zero", -0.5, 0.5, around(-0.5, 0.5), "-+++-", "--++-", "-++--", "--+--"},
		{"one point", 3, 3, around(3, 3), "-+++-", "-----", "-----", "-----"},
		{"the wrong way round", 2, 1, around(1, 2), "-----", "-----", "-----", "-----"},
		{"without ends", -inf, inf, []float64{-inf, -math.MaxFloat64, 0, math.MaxFloat64, inf}, "+++++", "-++++",
			"++++-", "-+++-"},
		{"without an upper end", 5, inf, []float64{-inf, 5, 6, math.MaxFloat64, inf}, "-++++", "--+++", "-+++-",
			"--++-"},
		{"without a lower end", -inf, 5, []float64{-inf, -6, 5, 6, inf}, "+++--", "-++--", "++---", "-+---"},
		{"infinity alone", inf, inf, []float64{-inf, 0, math.MaxFloat64, inf, nan}, "---+-", "-----", "-----", "-----"},
		{"the smallest numbers", 0, math.SmallestNonzeroFloat64,
			[]float64{-math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, -1}, "-++--", "--+--", "-+---",
			"-----"},
		{"zeros of either sign", math.Copysign(0, -1), 0, []float64{math.Copysign(0, -1), 0, 1, -1, nan}, "++---",
			"-----", "-----", "-----"},
		// Numbers that decimal or integer arithmetic would treat as equal.
		{"tenths", 0.30000000000000004, 1, []float64{0.3, 0.30000000000000004, 0.5, 1, 1.1}, "-+++-", "--++-", "-++--",
			"--+--"},
		{"past 2^53", 1 << 53, 1<<53 + 2, []float64{1<<53 - 1, 1 << 53, 1<<53 + 2, 1<<53 + 4, 0}, "-++--", "--+--",
			"-+---", "-----"},
		{"NaN in the ticket", -inf, inf, []float64{nan, nan, nan, nan, nan}, "-----", "-----", "-----", "-----"},
		{"NaN as lower end", nan, 2, []float64{-inf, 1, 2, inf, nan}, "-----", "-----", "-----", "-----"},
		{"NaN as upper end", 1, nan, []float64{-inf, 1, 2, inf, nan}, "-----", "-----", "-----", "-----"},
		{"NaN everywhere", nan, nan, []float64{-inf, 0, 1, inf, nan}, "-----", "-----", "-----", "-----"},
	} {
		for exclude, signs := range withUnlisted(row.none, row.low, row.high, row.both) {
			for i, v := range row.values {
				cases = append(cases, Case{
					Name: fmt.Sprintf("range %s, exclude %d: %v at %d", row.name, exclude, v, i),
					Pool: match.Pool{Doubles: []match.DoubleRange{{Arg: "x", Min: row.min, Max: row.max,
						Exclude: exclude}}},
					Fields: match.Fields{Doubles: map[string]float64{"x": v}},
					IsHeld: signs[i] == '+',
				})
			}
		}
	}
	return cases
}

// withUnlisted yields all ways to exclude: the four listed ones, and unlisted ones, with which every value matches.
func withUnlisted(listed ...string) iter.Seq2[match.Exclude, string] {
	return func(yield func(match.Exclude, string) bool) {
		for i, signs := range listed {
			if !yield(match.Exclude(i), signs) {
				return
			}
		}
		for _, other := range unlisted {
			if !yield(other, "+++++") {
				return
			}
		}
	}
}

// doubleCases returns cases about which double a range applies to.
func doubleCases() (cases []Case) {
	all := match.DoubleRange{Arg: "x", Min: -inf, Max: inf}
	either := func(name string, f match.Fields, held bool, ranges ...match.DoubleRange) {
		cases = append(cases, Case{"double " + name, match.Pool{Doubles: ranges}, f, held})
	}
	either("of no search fields", match.Fields{}, false, all)
	either("missing", match.Fields{Doubles: map[string]float64{"y": 1}}, false, all)
	either("of another case", match.Fields{Doubles: map[string]float64{"X": 1}}, false, all)
	either("that is a string", match.Fields{Strings: map[string]string{"x": "1"}}, false, all)
	either("that is a tag", match.Fields{Tags: []string{"x"}}, false, all)
	either("without a name", match.Fields{Doubles: map[string]float64{"": 1}}, true, match.DoubleRange{Max: 1})
	either("without a name, missing", match.Fields{Doubles: map[string]float64{"x": 1}}, false,
		match.DoubleRange{Max: 1})
	either("among others", match.Fields{Doubles: map[string]float64{"w": 9, "x": 1, "y": 9}}, true,
		match.DoubleRange{Arg: "x", Min: 1, Max: 1})
	either("in two ranges", match.Fields{Doubles: map[string]float64{"x": 1}}, true, all,
		match.DoubleRange{Arg: "x", Max: 1})
	either("in one of two ranges", match.Fields{Doubles: map[string]float64{"x": 2}}, false, all,
		match.DoubleRange{Arg: "x", Max: 1})
	either("and another", match.Fields{Doubles: map[string]float64{"x": 1, "y": 2}}, true, all,
		match.DoubleRange{Arg: "y", Max: 2})
	either("and another that is missing", match.Fields{Doubles: map[string]float64{"x": 1}}, false, all,
		match.DoubleRange{Arg: "y", Max: 2})
	for _, e := range unlisted {
		either(fmt.Sprintf("missing, exclude %d", e), match.Fields{}, false, match.DoubleRange{Arg: "x", Exclude: e})
	}
	return cases
}

// tagCases returns cases about tags, which are compared as texts are.
func tagCases() (cases []Case) {
	either := func(name string, has []string, held bool, want ...string) {
		cases = append(cases, Case{"tag " + name, match.Pool{Tags: want}, match.Fields{Tags: has}, held})
	}
	either("of no search fields", nil, false, "a")
	either("present", []string{"b", "a"}, true, "a")
	either("present twice", []string{"a", "a"}, true, "a")
	either("wanted twice", []string{"a"}, true, "a", "a")
	either("of another case", []string{"A"}, false, "a")
	either("that begins alike", []string{"ab"}, false, "a")
	either("that is empty", []string{""}, true, "")
	either("that is empty, missing", []string{"a"}, false, "")
	either("of two, both present", []string{"a", "b", "c"}, true, "c", "a")
	either("of two, one present", []string{"a"}, false, "a", "b")
	for _, odd := range oddTexts() {
		either(odd.name, []string{"a", odd.text}, true, odd.text)
		either(odd.name+", missing", []string{"a"}, false, odd.text)
	}
	cases = append(cases,
		Case{"tag that is the name of a double", match.Pool{Tags: []string{"x"}},
			match.Fields{Doubles: map[string]float64{"x": 1}}, false},
		Case{"tag that is a string", match.Pool{Tags: []string{"x"}},
			match.Fields{Strings: map[string]string{"x": "x"}}, false})
	return cases
}

// combinedCases returns cases with filters of several kinds, all of which must match.
func combinedCases() (cases []Case) {
	before, after := match.Moment{Seconds: 200}, match.Moment{Seconds: 100}
	pool := match.Pool{
		Doubles: []match.DoubleRange{{Arg: "level", Min: 1, Max: 9}},
		Strings: []match.StringEquals{{Arg: "mode", Value: "duel"}},
		Tags:    []string{"beta"}, CreatedBefore: &before, CreatedAfter: &after,
	}
	fits := func(change func(*match.Fields)) match.Fields {
		f := match.Fields{
			Doubles: map[string]float64{"level": 5}, Strings: map[string]string{"mode": "duel"},
			Tags: []string{"beta"}, Created: match.Moment{Seconds: 150},
		}
		change(&f)
		return f
	}
	return append(cases,
		Case{"no filters, no search fields", match.Pool{}, match.Fields{}, true},
		Case{"no filters, any search fields", match.Pool{}, fits(func(*match.Fields) {}), true},
		Case{"all filters choose", pool, fits(func(*match.Fields) {}), true},
		Case{"all but the range choose", pool, fits(func(f *match.Fields) { f.Doubles["level"] = 10 }), false},
		Case{"all but the string choose", pool, fits(func(f *match.Fields) { f.Strings["mode"] = "race" }), false},
		Case{"all but the tag choose", pool, fits(func(f *match.Fields) { f.Tags = nil }), false},
		Case{"all but created_before choose", pool, fits(func(f *match.Fields) { f.Created.Seconds = 200 }), false},
		Case{"all but created_after choose", pool, fits(func(f *match.Fields) { f.Created.Seconds = 100 }), false},
		Case{"only the time chooses", pool, match.Fields{Created: match.Moment{Seconds: 150}}, false},
	)
}
