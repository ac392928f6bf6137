package report

import (
	"math"
	"slices"
)

// Axis of a plot. The zero value is linear, starts at 0 and is marked at round numbers.
type Axis struct {
	Title string
	Log   bool
	// positions of marks, ascending; marks too near to each other are left out. nil: round numbers
	Ticks []float64
	Label func(float64) string // text of a mark; nil is [Short]
}

// beyond is more than any measured value, and its inverse is less. Values outside would overflow in the layout, or give
// an endless number of marks.
const beyond = 1e100

func (a Axis) shows(v float64) bool {
	return math.Abs(v) < beyond && (!a.Log || v > 1/beyond)
}

func (a Axis) label(v float64) string {
	if a.Label == nil {
		return Short(v)
	}
	return a.Label(v)
}

// span is the range of an axis.
type span struct {
	min, max float64
	marks    []mark
}

type mark struct {
	at    float64
	label string
}

func (a Axis) span(values []float64) span {
	reach, round := a.linear, roundLinear
	if a.Log {
		reach, round = a.logarithmic, roundLog
	}
	lowest, highest := reach(values)
	marks := a.Ticks
	if marks == nil {
		marks = round(lowest, highest)
		lowest, highest = marks[0], marks[len(marks)-1]
		if a.Log && highest/lowest > 2000 { // beyond three decades there is no space for more
			marks = decades(marks)
		}
	}
	s := span{min: lowest, max: highest}
	for _, at := range a.apart(marks, lowest, highest) {
		s.marks = append(s.marks, mark{at, oneLine(a.label(at), 20)})
	}
	return s
}

// linear starts at 0, or below.
func (Axis) linear(values []float64) (lowest, highest float64) {
	values = append([]float64{0}, values...)
	lowest, highest = slices.Min(values), slices.Max(values)
	if highest-lowest < 1/beyond {
		highest = 1
	}
	return lowest, highest
}

func (Axis) logarithmic(values []float64) (lowest, highest float64) {
	if len(values) == 0 {
		return 1, 10
	}
	lowest, highest = slices.Min(values), slices.Max(values)
	if lowest == highest {
		return lowest / 2, highest * 2
	}
	return lowest, highest
}

// nearest is the smallest distance of two marks, as a share of the axis.
const nearest = 0.06

// apart leaves out marks outside the axis, and marks too near to the one before.
func (a Axis) apart(marks []float64, lowest, highest float64) (kept []float64) {
	at := func(v float64) float64 { return (v - lowest) / (highest - lowest) }
	if a.Log {
		at = func(v float64) float64 { return math.Log(v/lowest) / math.Log(highest/lowest) }
	}
	for _, v := range marks {
		inside := v >= lowest && v <= highest
		if inside && (len(kept) == 0 || at(v)-at(kept[len(kept)-1]) >= nearest) {
			kept = append(kept, v)
		}
	}
	return kept
}

// roundLinear returns four to ten round numbers, the first not above lowest and the last not below highest.
func roundLinear(lowest, highest float64) (marks []float64) {
	step := roundStep((highest - lowest) / 5)
	for i := math.Floor(lowest / step); ; i++ {
		marks = append(marks, i*step)
		if i*step >= highest {
			return marks
		}
	}
}

// roundStep is the nearest of 1, 2 and 5 times a power of ten.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	switch digit := v / power; {
	case digit < 1.5:
		return power
	case digit < 3.5:
		return 2 * power
	case digit < 7.5:
		return 5 * power
	default:
		return 10 * power
	}
}

// roundLog returns 1, 2 and 5 times powers of ten, the first not above lowest and the last not below highest.
func roundLog(lowest, highest float64) (marks []float64) {
	for exponent := math.Floor(math.Log10(lowest)); ; exponent++ {
		for _, digit := range []float64{1, 2, 5} {
			v := digit * math.Pow(10, exponent)
			if v <= lowest {
				marks = marks[:0]
			}
			marks = append(marks, v)
			if v >= highest {
				return marks
			}
		}
	}
}

// decades returns the powers of ten among marks.
func decades(marks []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(marks), func(v float64) bool {
		exponent := math.Log10(v)
		return math.Abs(exponent-math.Round(exponent)) > 0.01
	})
}
