package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/lattice-director/director/bench"
)

// writePlots draws the runs of each experiment into DIR/EXPERIMENT-latency.svg and, where the load of its runs differs,
// DIR/EXPERIMENT-throughput.svg. It makes the directory. Errors: those of the files, with their names.
func (f findings) writePlots(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, e := range f.Experiments {
		for name, c := range map[string]chart{"latency": drawLatencies(e.Runs), "throughput": drawThroughput(e.Runs)} {
			if c.lines == 0 {
				continue
			}
			c.plot.Title.Text = e.Title
			if err := c.plot.Save(24*vg.Centimeter, 12*vg.Centimeter,
				filepath.Join(dir, e.Name+"-"+name+".svg")); err != nil {
				return err
			}
		}
	}
	return nil
}

// chart is a plot with a number of lines, each in a colour of its own.
type chart struct {
	plot  *plot.Plot
	lines int
}

// newChart makes a chart without lines.
func newChart(x, y string) chart {
	c := chart{plot: plot.New()}
	c.plot.X.Label.Text, c.plot.Y.Label.Text = x, y
	c.plot.Legend.YOffs = vg.Centimeter / 2 // at the bottom on the right, where lines that rise leave room
	c.plot.Add(plotter.NewGrid())
	return c
}

// addLine adds a line with its points, and its name. One of fewer than two points shows nothing, and is left out.
func (c *chart) addLine(name string, points plotter.XYs) {
	if len(points) < 2 {
		return
	}
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil { // a value that is no number
		return
	}
	line.Color, dots.Color, dots.Shape = plotutil.Color(c.lines), plotutil.Color(c.lines), plotutil.Shape(c.lines)
	c.plot.Add(line, dots)
	c.plot.Legend.Add(name, line, dots)
	c.lines++
}

// drawLatencies draws the latency by percentile, a line for each run. Each further nine of the percentile has the same
// width.
func drawLatencies(runs []bench.Result) chart {
	c := newChart("% of the calls took at most", "ms")
	for _, r := range runs {
		c.addLine(r.Name, latencyPoints(r.Latency.Curve))
	}
	for _, axis := range []*plot.Axis{&c.plot.X, &c.plot.Y} {
		axis.Scale = plot.LogScale{}
		axis.Max = max(axis.Max, 2*axis.Min) // a logarithmic axis needs a length
	}
	c.plot.X.Tick.Marker, c.plot.Y.Tick.Marker = plot.TickerFunc(percentTicks), plot.LogTicks{Prec: -1}
	return c
}

// percentTicks marks an axis of one in how many calls is slower.
func percentTicks(least, most float64) (ticks []plot.Tick) {
	for _, oneIn := range []float64{2, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6} {
		if least <= oneIn && oneIn <= most {
			ticks = append(ticks, plot.Tick{Value: oneIn, Label: fmt.Sprintf("%.6g", 100-100/oneIn)})
		}
	}
	return ticks
}

// latencyPoints leaves out 100 %, which would be infinitely far to the right, and what a logarithm does not have.
func latencyPoints(curve []bench.Point) (points plotter.XYs) {
	for _, at := range curve {
		if at.Percentile < 100 && at.MS > 0 {
			points = append(points, plotter.XY{X: 100 / (100 - at.Percentile), Y: at.MS})
		}
	}
	return points
}

// drawThroughput draws the successful calls a second against the load, a line for each name of runs: against the asked
// rate where all runs are open loops, else against the callers.
func drawThroughput(runs []bench.Result) chart {
	c := newChart("callers", "calls a second")
	load := func(r bench.Result) float64 { return float64(r.Callers) }
	if !slices.ContainsFunc(runs, func(r bench.Result) bool { return r.Open == nil }) {
		c = newChart("asked calls a second", "calls a second")
		load = func(r bench.Result) float64 { return r.Open.Rate }
	}
	points := map[string]plotter.XYs{}
	for _, r := range runs {
		points[r.Name] = append(points[r.Name], plotter.XY{X: load(r), Y: r.PerSecond})
	}
	for _, name := range slices.Sorted(maps.Keys(points)) {
		// the numbers of callers may have been given in any order
		slices.SortFunc(points[name], func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		c.addLine(name, points[name])
	}
	return c
}
