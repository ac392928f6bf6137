package console

// plotRange is how far the plots of a page reach back, which the page offers as links.
type plotRange struct {
	Label   string // as in "6 h", also the value of the parameter
	Minutes int
	Path    string // of the page with this range
	Chosen  bool
}

// rangeParam is the parameter of the query that chooses a range.
const rangeParam = "range"

// plotRanges are the ranges of a page, and the one that is chosen: an hour, unless the query says another.
func plotRanges(q query) (all []plotRange, chosen plotRange) {
	all = []plotRange{{Label: "15 min", Minutes: 15}, {Label: "1 h", Minutes: hour}, {Label: "6 h", Minutes: 6 * hour}}
	selected := 1
	for i := range all {
		if q.Get(rangeParam) == all[i].Label {
			selected = i
		}
		all[i].Path = q.With(rangeParam, all[i].Label)
	}
	// The default has no parameter, so that the page has one address, which all who watch it share (see hub).
	all[1].Path = q.With(rangeParam, "")
	all[selected].Chosen = true
	return all, all[selected]
}
