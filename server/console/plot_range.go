package console

import "slices"

// plotRange is how far the plots of a page reach back, which the page offers as links.
type plotRange struct {
	Label   string // as in "6 h", also the value of the parameter
	Minutes int
	Path    string // of the page with this range
	Chosen  bool
}

// rangeParam is the parameter of the query that chooses a range.
const rangeParam = "range"

// defaultRange is the label of the range without a parameter.
const defaultRange = "1 h"

// plotRanges are the ranges of a page, and the one that the query chooses.
func plotRanges(q query) (all []plotRange, chosen plotRange) {
	all = []plotRange{{Label: "15 min", Minutes: 15}, {Label: defaultRange, Minutes: hour},
		{Label: "6 h", Minutes: 6 * hour}}
	isKnown := slices.ContainsFunc(all, func(r plotRange) bool { return r.Label == q.Get(rangeParam) })
	label := defaultRange
	if isKnown {
		label = q.Get(rangeParam)
	}
	for i, r := range all {
		all[i].Path = q.With(rangeParam, r.Label)
		// The default has no parameter, so that the page has one address, and all who watch it share a topic of the hub.
		if r.Label == defaultRange {
			all[i].Path = q.With(rangeParam, "")
		}
		if r.Label == label {
			all[i].Chosen = true
			chosen = all[i]
		}
	}
	return all, chosen
}
