package verify

import (
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// foldsKind reports whether a fold makes one value of several of a type.
func foldsKind(by profile.Fold, kind match.Kind) bool {
	switch by {
	case profile.FoldMin, profile.FoldMax, profile.FoldMean:
		return kind == match.Number
	case profile.Union:
		return kind != match.Number
	default:
		// Also of Intersect: what all lists have in common is the same without folding first.
		return false
	}
}

// foldValues makes one value of those of a party's players, which are all numbers, or texts and lists.
func foldValues(by profile.Fold, party []entry) match.Value {
	if party[0].value.Kind == match.Number {
		n, _ := foldNumbers(by, numbersOf(party))
		return match.Value{Kind: match.Number, Number: n}
	}
	var union []string
	for _, e := range party {
		union = append(union, textsOf(e.value)...)
	}
	return match.Value{Kind: match.List, List: union}
}

// foldNumbers makes one number of many; false: there are none. Of none, a sum and a count are 0, and the others do not
// exist.
func foldNumbers(by profile.Fold, numbers []float64) (float64, bool) {
	if by == profile.FoldCount {
		return float64(len(numbers)), true
	}
	var sum float64
	for _, n := range numbers {
		sum += n
	}
	if by == profile.FoldSum {
		return sum, true
	}
	if len(numbers) == 0 {
		return 0, false
	}
	switch by {
	case profile.FoldMin:
		return slices.Min(numbers), true
	case profile.FoldMax:
		return slices.Max(numbers), true
	default: // profile.FoldMean
		return sum / float64(len(numbers)), true
	}
}
