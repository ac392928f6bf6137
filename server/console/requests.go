package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
)

// requestState is how the requests of the last minutes were answered, over all replicas.
type requestState struct {
	Routes                    []db.RouteCount // those with the most failures first
	Requests, Refused, Failed int64           // in all minutes
	Range                     plotRange       // how far they reach back

	requestLine, refusedLine, failedLine *timeline
}

// readRequests reads the requests of a range.
func readRequests(ctx context.Context, s Store, reach plotRange) (r requestState, err error) {
	now := time.Now()
	r = requestState{Range: reach, requestLine: newTimeline(now, reach.Minutes),
		refusedLine: newTimeline(now, reach.Minutes),
		failedLine:  newTimeline(now, reach.Minutes)}
	minutes, err := s.RequestsByMinute(ctx, reach.Minutes)
	if err != nil {
		return r, err
	}
	for _, m := range minutes {
		r.Requests, r.Refused, r.Failed = r.Requests+m.Requests, r.Refused+m.Refused, r.Failed+m.Failed
		r.requestLine.addValue(m.Minute, float64(m.Requests))
		r.refusedLine.addValue(m.Minute, float64(m.Refused))
		r.failedLine.addValue(m.Minute, float64(m.Failed))
	}
	r.Routes, err = s.RequestsByRoute(ctx, reach.Minutes)
	return r, err
}

// FailedLine returns the failed requests of each minute.
func (r requestState) FailedLine() []float64 { return r.failedLine.values }

// RefusedLine returns the refused requests of each minute.
func (r requestState) RefusedLine() []float64 { return r.refusedLine.values }

// drawPlots draw the requests, and apart from them the few that went wrong, whose lines would lie on the ground.
func (r requestState) drawPlots() []plotData {
	return []plotData{
		r.requestLine.plotOf("Requests of each minute", "", series{"answered", r.requestLine.values}),
		r.failedLine.plotOf("Requests of each minute that went wrong", "",
			series{"failed: 5xx", r.failedLine.values}, series{"refused: 4xx", r.refusedLine.values}),
	}
}
