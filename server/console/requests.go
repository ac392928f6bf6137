package console

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
)

// requestState is how the requests of the last minutes were answered, over all replicas.
type requestState struct {
	Routes                    []db.RouteCount // in Range and in the present minute, those with the most failures first
	Requests, Refused, Failed int64           // in Range
	Range                     plotRange       // how far the requests reach back

	requestLine, refusedLine, failedLine *timeline
}

// readRequests reads how the requests of a range were answered.
func readRequests(ctx context.Context, s Store, chosen plotRange) (r requestState, err error) {
	now := time.Now()
	r = requestState{Range: chosen, requestLine: newTimeline(now, chosen.Minutes),
		refusedLine: newTimeline(now, chosen.Minutes),
		failedLine:  newTimeline(now, chosen.Minutes)}
	minutes, err := s.RequestsByMinute(ctx, chosen.Minutes)
	if err != nil {
		return r, err
	}
	for _, m := range minutes {
		r.requestLine.addValue(m.Minute, float64(m.Requests))
		r.refusedLine.addValue(m.Minute, float64(m.Refused))
		r.failedLine.addValue(m.Minute, float64(m.Failed))
	}
	// Of the timelines, and not of what was read: that begins before Range, and ends with a minute that is not over.
	r.Requests, r.Refused, r.Failed = int64(r.requestLine.sumAll()), int64(r.refusedLine.sumAll()),
		int64(r.failedLine.sumAll())
	r.Routes, err = s.RequestsByRoute(ctx, chosen.Minutes)
	return r, err
}

// FailedLine returns the failed requests of each minute.
func (r requestState) FailedLine() []float64 { return r.failedLine.values }

// RefusedLine returns the refused requests of each minute.
func (r requestState) RefusedLine() []float64 { return r.refusedLine.values }

// drawPlots returns a plot of all requests, and one of those that went wrong: these are few, and their lines would be
// flat beside that of all.
func (r requestState) drawPlots() []plotData {
	return []plotData{
		plotOver(r.requestLine.fromMinute, r.Range.Minutes, "Requests of each minute", "",
			series{"answered", r.requestLine.values}),
		plotOver(r.requestLine.fromMinute, r.Range.Minutes, "Requests of each minute that went wrong", "",
			series{"failed: 5xx", r.failedLine.values}, series{"refused: 4xx", r.refusedLine.values}),
	}
}
