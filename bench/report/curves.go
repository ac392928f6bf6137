package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/lattice-director/director/bench"
)

// Plots returns those of [Throughput], [CPU], [Latencies] and [GroupSizes] that show something about runs: a single
// load gives one dot, which is left out, as is what was not measured.
func Plots(runs []Run) (all []Plot) {
	if _, of := load(runs); len(distinct(runs, of)) > 1 {
		all = append(all, Throughput(runs), CPU(runs))
	}
	all = append(all, Latencies(runs), GroupSizes(runs))
	return slices.DeleteFunc(all, func(p Plot) bool { return len(p.measured()) == 0 })
}

// Throughput plots successful calls per second against the callers, or against the requested rate when all runs were
// open loops. Each name of a run has a line.
func Throughput(runs []Run) Plot {
	return overLoad(runs, Plot{Title: "Throughput", Y: Axis{Title: "calls per second"}},
		func(r Run) map[string]float64 {
			return map[string]float64{r.name(): r.PerSecond}
		})
}

// CPU plots the CPU of server and Postgres per call, against the load as in [Throughput].
func CPU(runs []Run) Plot {
	return overLoad(runs, Plot{Title: "Cost of a call", Y: Axis{Title: "µs of CPU, server and Postgres"}},
		func(r Run) map[string]float64 {
			if r.Costs == nil {
				return nil
			}
			return map[string]float64{r.name(): r.Costs.ServerMicros + r.Costs.PostgresMicros}
		})
}

// Latencies plots the latencies by percentile, a line for each run. Each further nine of the percentile has the same
// width.
func Latencies(runs []Run) Plot {
	p := Plot{
		Title: "Latency by percentile",
		X: Axis{Title: "of the calls took at most", Log: true, Ticks: []float64{2, 10, 100, 1e3, 1e4, 1e5, 1e6},
			Label: percent},
		Y: Axis{Title: "latency", Log: true, Label: Milliseconds},
	}
	for i, name := range apart(runs) {
		p.Series = append(p.Series, latency(name, runs[i].Latency))
	}
	return p
}

// percent labels an axis that shows one in how many calls is slower.
func percent(oneIn float64) string {
	decimals := max(0, int(math.Round(math.Log10(oneIn)))-2)
	return fmt.Sprintf("%.*f%s%%", decimals, 100-100/oneIn, space)
}

func latency(name string, l bench.Latency) Series {
	curve := l.Curve
	if len(curve) == 0 {
		curve = []bench.Point{{Percentile: 50, MS: l.P50}, {Percentile: 90, MS: l.P90}, {Percentile: 99, MS: l.P99},
			{Percentile: 99.9, MS: l.P999}}
	}
	s := Series{Name: name}
	for _, p := range curve {
		if p.Percentile < 100 { // 100 % would be infinitely far to the right
			s.X, s.Y = append(s.X, 100/(100-p.Percentile)), append(s.Y, p.MS)
		}
	}
	return s
}

// load is the x axis: the requested rate when all runs were open loops, else the callers.
func load(runs []Run) (Axis, func(Run) float64) {
	closed := func(r Run) bool { return r.Open == nil }
	if len(runs) > 0 && !slices.ContainsFunc(runs, closed) {
		return Axis{Title: "requested calls per second"}, Run.rate
	}
	return Axis{Title: "callers", Log: true, Label: Whole}, func(r Run) float64 { return float64(r.Callers) }
}

// overLoad plots a measured value of each run against its load.
func overLoad(runs []Run, p Plot, measure func(Run) map[string]float64) Plot {
	x, of := load(runs)
	at := map[string]int{} // series by name
	for _, r := range slices.SortedStableFunc(slices.Values(runs),
		func(a, b Run) int { return cmp.Compare(of(a), of(b)) }) {
		measures := measure(r)
		for _, name := range slices.Sorted(maps.Keys(measures)) {
			if _, known := at[name]; !known {
				at[name] = len(p.Series)
				p.Series = append(p.Series, Series{Name: name})
			}
			s := &p.Series[at[name]]
			s.X, s.Y = append(s.X, of(r)), append(s.Y, measures[name])
		}
	}
	if p.X = x; x.Log {
		p.X.Ticks = p.measured()
	}
	return p
}

// measured returns the positions on the x axis that have a point.
func (p Plot) measured() []float64 {
	at := []float64{}
	for _, s := range p.Series {
		at = append(at, s.X...)
	}
	slices.Sort(at)
	return slices.Compact(at)
}
