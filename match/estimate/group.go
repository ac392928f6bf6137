package estimate

import (
	"cmp"
	"math"
	"slices"
)

// ratioGroup is how waits of tickets with similar numbers compare with the plain estimate.
type ratioGroup struct {
	upTo      float64
	halfRatio float64 // that half of the waits do not exceed
	mostRatio float64 // that nine of ten do not exceed
	waitCount int
}

// groupRatios groups waits by their number: at most ten groups, of equal numbers or at least LeastWaits each. Fewer
// waits than that are no group.
func groupRatios(waits []wait) (groups []ratioGroup) {
	sorted := slices.Clone(waits)
	slices.SortFunc(sorted, func(a, b wait) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.plainRatio, b.plainRatio))
	})
	size := max(LeastWaits, (len(sorted)+maxGroups-1)/maxGroups)
	for len(sorted) >= LeastWaits {
		n := min(size, len(sorted))
		// Equal numbers stay together: a ticket is in one group.
		for n < len(sorted) && sorted[n].number == sorted[n-1].number {
			n++
		}
		// A rest that is too small for a group joins the last one.
		if len(sorted)-n < LeastWaits {
			n = len(sorted)
		}
		groups = append(groups, ratiosOf(sorted[:n]))
		sorted = sorted[n:]
	}
	return groups
}

// Bounds of the spread of a group.
const minSpread, maxSpread = 0.01, 1

// spread returns how far the ratios are from each other, as a logarithm, to which corrections are proportional.
func (g ratioGroup) spread() float64 {
	if g.halfRatio <= 0 {
		return maxSpread
	}
	return min(max(math.Log(g.mostRatio/g.halfRatio), minSpread), maxSpread)
}

// ratiosOf returns the median and the ninth decile of the ratios. There must be waits, sorted by their number.
func ratiosOf(waits []wait) ratioGroup {
	ratios := make([]float64, len(waits))
	for i, w := range waits {
		ratios[i] = w.plainRatio
	}
	slices.Sort(ratios)
	return ratioGroup{upTo: waits[len(waits)-1].number, halfRatio: ratios[len(ratios)/2],
		mostRatio: ratios[len(ratios)*9/10], waitCount: len(waits)}
}

// groupOf returns the group of a number: the last one for a number above all.
func groupOf(groups []Group, number float64) (g Group, known bool) {
	if len(groups) == 0 {
		return g, false
	}
	i := slices.IndexFunc(groups, func(g Group) bool { return number <= g.UpTo })
	if i < 0 {
		i = len(groups) - 1
	}
	return groups[i], true
}
