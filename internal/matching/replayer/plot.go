package replayer

import (
	"fmt"
	"strings"

	"github.com/lattice-director/director/match/replay"
)

// The size of a plot, of the place for its labels, and of what stays free above the highest value and beside the last
// point, in pixels.
const (
	plotWidth, plotHeight = 720, 220
	plotLeft, plotBottom  = 56, 28
	plotMargin            = 8
)

// plot is a plot of the page, with the positions of all that the template draws, in pixels.
type plot struct {
	Title         string
	Width, Height int
	Bars          []bar
	Paths         []path
	Ticks         []tick // labels below the plot
	Levels        []tick // labels beside it
}

type bar struct {
	X, Y, Width, Height float64
	Side, Hint          string
}

type path struct{ Side, D string }

type tick struct {
	Position float64
	Text     string
}

// newPlot makes a plot of values from 0 to most, with five levels, which unit formats.
func newPlot(title string, most float64, unit func(float64) string) plot {
	p := plot{Title: title, Width: plotWidth, Height: plotHeight}
	for i := range 5 {
		value := most * float64(i) / 4
		p.Levels = append(p.Levels, tick{p.heightOf(value, most), unit(value)})
	}
	return p
}

// heightOf returns the distance of a value from the top edge, which is where SVG counts from.
func (p *plot) heightOf(value, most float64) float64 {
	// No value at all: the plot is empty, and must not divide by 0.
	if most <= 0 {
		most = 1
	}
	return roundTenth(float64(plotHeight-plotBottom) - value/most*float64(plotHeight-plotBottom-plotMargin))
}

// roundTenth rounds to a tenth of a pixel, so that coordinates stay short in the page.
func roundTenth(x float64) float64 { return float64(int(x*10+0.5)) / 10 }

// namedSide is a side of a report with its name, which selects its colour in the page.
type namedSide struct {
	sideName   string
	reportSide *replay.Side
}

// sidesOf returns the sides of a report in the order of the table's columns.
func sidesOf(r *replay.Report) []namedSide {
	replayed := namedSide{"replayed", &r.Replayed}
	if r.Recorded == nil {
		return []namedSide{replayed}
	}
	return []namedSide{{"recorded", r.Recorded}, replayed}
}

// waitingPlot has a group of bars for each bin of waiting times.
func waitingPlot(r *replay.Report) plot {
	sides := sidesOf(r)
	most := 0.0
	for _, s := range sides {
		for _, b := range s.reportSide.Bins {
			most = max(most, percentOf(b.Tickets, s.reportSide.Matched))
		}
	}
	p := newPlot("Waiting until the match, share of the matched tickets", most,
		func(v float64) string { return fmt.Sprintf("%.0f %%", v) })
	group := float64(plotWidth-plotLeft) / float64(len(r.Replayed.Bins))
	for i := range r.Replayed.Bins {
		left := plotLeft + float64(i)*group
		p.Ticks = append(p.Ticks, tick{roundTenth(left + group/2), binLabel(r.Replayed.Bins, i)})
		for k, s := range sides {
			value := percentOf(s.reportSide.Bins[i].Tickets, s.reportSide.Matched)
			// 3 pixels stay free on either side of a group, so that its bars are seen together.
			width := (group - 6) / float64(len(sides))
			y := p.heightOf(value, most)
			p.Bars = append(p.Bars, bar{roundTenth(left + 3 + float64(k)*width), y, roundTenth(width),
				roundTenth(float64(plotHeight-plotBottom) - y), s.sideName,
				fmt.Sprintf("%s, %s: %d tickets", s.sideName, binLabel(r.Replayed.Bins, i),
					s.reportSide.Bins[i].Tickets)})
		}
	}
	return p
}

func percentOf(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

func binLabel(bins []replay.Bin, i int) string {
	// The last bin has no upper bound.
	if bins[i].UpTo == 0 {
		return "more"
	}
	if s := bins[i].UpTo; s < 60 {
		return fmt.Sprintf("<%gs", s)
	}
	return fmt.Sprintf("<%gm", bins[i].UpTo/60)
}

// linePlot draws a value over the time of the report.
func linePlot(r *replay.Report, title string, unit func(float64) string, of func(replay.Point) float64) plot {
	most := 0.0
	for _, s := range sidesOf(r) {
		for _, point := range s.reportSide.Line {
			most = max(most, of(point))
		}
	}
	p := newPlot(title, most, unit)
	for _, s := range sidesOf(r) {
		var d strings.Builder
		command := "M" // the path begins at the first point; "L" draws a line to each further one
		for i, point := range s.reportSide.Line {
			fmt.Fprintf(&d, "%s%.1f %.1f", command, pointLeft(i, s.reportSide.Line), p.heightOf(of(point), most))
			command = "L"
		}
		p.Paths = append(p.Paths, path{s.sideName, d.String()})
	}
	// A label below each tenth point, since more would overlap, and 12 pixels to the right, so that the first one keeps
	// clear of the labels beside the plot.
	for i := 0; i < len(r.Replayed.Line); i += 10 {
		at := pointLeft(i, r.Replayed.Line)
		p.Ticks = append(p.Ticks, tick{roundTenth(at + 12), r.Replayed.Line[i].At.UTC().Format("02 15:04")})
	}
	return p
}

// pointLeft returns the distance of a point of a line from the left edge.
func pointLeft(i int, line []replay.Point) float64 {
	steps := max(1, len(line)-1) // a report of one moment has one point
	return plotLeft + float64(i)*float64(plotWidth-plotLeft-plotMargin)/float64(steps)
}
