package main

import (
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/lattice-director/director/bench"
)

// writePlots draws the latencies of each experiment into DIR/EXPERIMENT-latency.svg. It makes the directory. Errors:
// those of the files, with their names.
func (f findings) writePlots(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, e := range f.Experiments {
		p := drawLatencies(e.Runs)
		if p == nil {
			continue
		}
		p.Title.Text = e.Title
		if err := p.Save(24*vg.Centimeter, 12*vg.Centimeter, filepath.Join(dir, e.Name+"-latency.svg")); err != nil {
			return err
		}
	}
	return nil
}

// drawLatencies draws the latency by percentile, a line for each run. Each further nine of the percentile has the same
// width. Without a line it returns nil.
func drawLatencies(runs []bench.Result) *plot.Plot {
	p, lines := plot.New(), 0
	p.Legend.YOffs = vg.Centimeter / 2 // at the bottom on the right, where lines that rise leave room
	p.Add(plotter.NewGrid())
	for _, r := range runs {
		line, dots, err := plotter.NewLinePoints(latencyPoints(r.Latency.Curve))
		if err != nil || len(line.XYs) < 2 { // a value that is no number, or nothing to see
			continue
		}
		line.Color, dots.Color, dots.Shape = plotutil.Color(lines), plotutil.Color(lines), plotutil.Shape(lines)
		p.Add(line, dots)
		p.Legend.Add(r.Name, line, dots)
		lines++
	}
	if lines == 0 {
		return nil
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Scale = plot.LogScale{}
		axis.Max = max(axis.Max, 2*axis.Min) // a logarithmic axis needs a length
	}
	p.X.Label.Text, p.Y.Label.Text = "% of the calls took at most", "ms"
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(percentTicks), plot.LogTicks{Prec: -1}
	return p
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
