package report

import (
	"maps"
	"slices"

	"github.com/lattice-director/director/bench"
)

// GroupSizes plots how many calls are decided in a batch. When runs had different loads (as in [Throughput]), it plots
// the mean against the load. Else it plots which share of the calls was decided in batches of which size, counting each
// batch with the middle of its bucket. Each group (and run) that decides at least one in twenty of the calls has a
// line.
func GroupSizes(runs []Run) Plot {
	if _, at := load(runs); len(distinct(runs, at)) > 1 {
		p := Plot{Title: "Group size", Y: Axis{Title: "calls decided together, mean"}}
		return overLoad(runs, p, func(r Run) map[string]float64 {
			means := map[string]float64{}
			for _, group := range r.groups() {
				means[within(r.name(), group)] = r.Costs.Groups[group].MeanCalls
			}
			return means
		})
	}
	p := Plot{Title: "Calls by the size of their group", X: Axis{Title: "calls decided together, up to", Log: true},
		Y: Axis{Title: "share of the calls", Label: share}}
	names := apart(runs)
	for i, r := range runs {
		for _, group := range r.groups() {
			p.Series = append(p.Series, sizes(within(names[i], group), r.Costs.Groups[group]))
		}
	}
	p.X.Ticks, p.X.Label = p.measured(), Whole
	return p
}

func share(v float64) string { return digits(100*v) + space + "%" }

func sizes(name string, g bench.Group) Series {
	s := Series{Name: name}
	var below float64
	for _, size := range g.Sizes {
		upTo := size.UpTo
		if upTo == 0 {
			upTo = 2 * below // the last bucket has no bound
		}
		middle := (below + 1 + upTo) / 2
		s.X, s.Y = append(s.X, upTo), append(s.Y, middle*float64(size.Batches))
		below = upTo
	}
	return s.ofAll()
}

// ofAll turns counts into shares, and removes empty buckets at both ends.
func (s Series) ofAll() Series {
	var all float64
	for _, y := range s.Y {
		all += y
	}
	filled := func(y float64) bool { return y > 0 }
	from := slices.IndexFunc(s.Y, filled)
	if from < 0 {
		return Series{Name: s.Name}
	}
	to := len(s.Y)
	for !filled(s.Y[to-1]) {
		to--
	}
	s.X, s.Y = s.X[from:to], s.Y[from:to]
	for i := range s.Y {
		s.Y[i] /= all
	}
	return s
}

// within returns the name of a group of a run.
func within(run, group string) string {
	if run == group {
		return group
	}
	return run + ": " + group
}

// groups returns the groups that decide at least one in twenty of the run's calls, sorted. Others come from calls
// beside the load, such as the heartbeats that keep its game servers alive.
func (r Run) groups() (names []string) {
	if r.Costs == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.Costs.Groups)) {
		g := r.Costs.Groups[name]
		if 20*g.MeanCalls*float64(g.Batches) >= float64(r.Calls) {
			names = append(names, name)
		}
	}
	return names
}
