package replayer

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/lattice-director/director/match/replay"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is the data of the template.
type page struct {
	Report *replay.Report

	Title, Verdict string
	OptimumText    string
	Both           bool // the report has a recorded side
	Lines          []Line
	NoCandidates   []string
	Plots          []plot
}

// WritePage writes the report as an HTML page that needs nothing else: no script, no other file, no network.
func WritePage(to io.Writer, r *replay.Report) error {
	count := func(v float64) string { return fmt.Sprintf("%.4g", v) }
	p := page{
		Report: r, Title: r.Profile, Verdict: Verdict(r), OptimumText: Optimum(r), Both: r.Recorded != nil,
		Lines: Lines(r), NoCandidates: NoCandidates(r),
		Plots: []plot{
			waitingPlot(r),
			linePlot(r, "Mean waiting of the tickets that were matched", formatSeconds,
				func(p replay.Point) float64 { return p.MeanWaiting }),
			linePlot(r, "Tickets matched, by time", count, func(p replay.Point) float64 { return float64(p.Matched) }),
		},
	}
	// Rules from a file have no version.
	if r.Version > 0 {
		p.Title = fmt.Sprintf("%s@%d", r.Profile, r.Version)
	}
	return pageTemplate.Execute(to, p)
}
