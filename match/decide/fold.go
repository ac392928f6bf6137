package decide

import (
	"math"
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// foldValues makes one number of many, which must be at least one. Sums are taken in the given order.
func foldValues(values []float64, f profile.Fold) float64 {
	switch f {
	case profile.FoldMin:
		return slices.Min(values)
	case profile.FoldMax:
		return slices.Max(values)
	case profile.FoldMean:
		return sumValues(values) / float64(len(values))
	case profile.FoldSum:
		return sumValues(values)
	case profile.FoldCount:
		return float64(len(values))
	default: // FoldEach, or a fold of lists
		return values[0]
	}
}

func sumValues(values []float64) float64 {
	var total float64
	for _, x := range values {
		total += x
	}
	return total
}

// foldParty returns the values with the numbers of one party, values[start:], folded into one, unless the fold keeps
// each.
func foldParty(values []float64, start int, f profile.Fold) []float64 {
	// Any fold of one number is that number.
	if len(values)-start < 2 || !foldsNumbers(f) {
		return values
	}
	values[start] = foldValues(values[start:], f)
	return values[:start+1]
}

// foldsNumbers reports whether a fold makes one number of those of a party.
func foldsNumbers(f profile.Fold) bool {
	return f == profile.FoldMin || f == profile.FoldMax || f == profile.FoldMean || f == profile.FoldSum
}

// extremesOf returns the least and the greatest number; low > high if there is none.
func extremesOf(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, x := range values {
		low, high = min(low, x), max(high, x)
	}
	return low, high
}

// spreadOf returns the greatest less the least number, and 0 of none.
func spreadOf(values []float64) float64 {
	low, high := extremesOf(values)
	if low > high {
		return 0
	}
	return high - low
}
