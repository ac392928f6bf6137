package matchtest

import (
	"fmt"
	"iter"
	"math"

	"github.com/lattice-director/director/match"
)

// rangeCases returns cases of values in and around ranges, with each way to exclude the ends. A sign says of each value
// whether it is in the range (+) or not (-).
func rangeCases() (cases []Case) {
	// Just outside, at and between the two ends.
	around := func(low, high float64) []float64 {
		return []float64{math.Nextafter(low, -inf), low, low + (high-low)/2, high, math.Nextafter(high, inf)}
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
	add := func(name string, f match.Fields, isHeld bool, ranges ...match.DoubleRange) {
		cases = append(cases, Case{"double " + name, match.Pool{Doubles: ranges}, f, isHeld})
	}
	add("of no search fields", match.Fields{}, false, all)
	add("missing", match.Fields{Doubles: map[string]float64{"y": 1}}, false, all)
	add("of another case", match.Fields{Doubles: map[string]float64{"X": 1}}, false, all)
	add("that is a string", match.Fields{Strings: map[string]string{"x": "1"}}, false, all)
	add("that is a tag", match.Fields{Tags: []string{"x"}}, false, all)
	add("without a name", match.Fields{Doubles: map[string]float64{"": 1}}, true, match.DoubleRange{Max: 1})
	add("without a name, missing", match.Fields{Doubles: map[string]float64{"x": 1}}, false,
		match.DoubleRange{Max: 1})
	add("among others", match.Fields{Doubles: map[string]float64{"w": 9, "x": 1, "y": 9}}, true,
		match.DoubleRange{Arg: "x", Min: 1, Max: 1})
	add("in two ranges", match.Fields{Doubles: map[string]float64{"x": 1}}, true, all,
		match.DoubleRange{Arg: "x", Max: 1})
	add("in one of two ranges", match.Fields{Doubles: map[string]float64{"x": 2}}, false, all,
		match.DoubleRange{Arg: "x", Max: 1})
	add("and another", match.Fields{Doubles: map[string]float64{"x": 1, "y": 2}}, true, all,
		match.DoubleRange{Arg: "y", Max: 2})
	add("and another that is missing", match.Fields{Doubles: map[string]float64{"x": 1}}, false, all,
		match.DoubleRange{Arg: "y", Max: 2})
	for _, e := range unlisted {
		add(fmt.Sprintf("missing, exclude %d", e), match.Fields{}, false, match.DoubleRange{Arg: "x", Exclude: e})
	}
	return cases
}

var (
	nan, inf = math.NaN(), math.Inf(1)
	// unlisted are values of Exclude that the protocol does not list but a client may send.
	unlisted = []match.Exclude{4, -1, math.MaxInt32, math.MinInt32}
)
