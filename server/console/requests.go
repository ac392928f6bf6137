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

	requests, refused, failed *timeline
}

// readRequests reads the requests of a range.
func readRequests(ctx context.Context, s Store, reach plotRange) (r requestState, err error) {
	now := time.Now()
	r = requestState{Range: reach, requests: newTimeline(now, reach.Minutes), refused: newTimeline(now, reach.Minutes),
		failed: newTimeline(now, reach.Minutes)}
	minutes, err := s.RequestsByMinute(ctx, reach.Minutes)
	if err != nil {
		return r, err
	}
	for _, m := range minutes {
		r.Requests, r.Refused, r.Failed = r.Requests+m.Requests, r.Refused+m.Refused, r.Failed+m.Failed
		r.requests.add(m.Minute, float64(m.Requests))
		r.refused.add(m.Minute, float64(m.Refused))
		r.failed.add(m.Minute, float64(m.Failed))
	}
	r.Routes, err = s.RequestsByRoute(ctx, reach.Minutes)
	return r, err
}

// FailedLine returns the failed requests of each minute.
func (r requestState) FailedLine() []float64 { return r.failed.values }

// RefusedLine returns the refused requests of each minute.
func (r requestState) RefusedLine() []float64 { return r.refused.values }

// plots draw the requests, and apart from them the few that went wrong, whose lines would lie on the ground.
func (r requestState) plots() []plotData {
	return []plotData{
		r.requests.plot("Requests of each minute", "", series{"answered", r.requests.values}),
		r.failed.plot("Requests of each minute that went wrong", "",
			series{"failed: 5xx", r.failed.values}, series{"refused: 4xx", r.refused.values}),
	}
}
