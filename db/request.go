package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// RouteCount is how many requests of a route were answered.
type RouteCount struct {
	Route    string // method and pattern, as in POST /matchmake
	Requests int64
	Refused  int64 // of Requests, with a status from 400 to 498; 499 is a caller who left
	Failed   int64 // of Requests, with a status of 500 or more
}

// CountRequests adds what a replica answered to ops.request_minutes, in one statement. No two counts may have the same
// route. Errors: Unavailable; all or none of them were added then.
func (s *Store) CountRequests(ctx context.Context, counts []RouteCount) error {
	var p query.CountRequestsParams
	for _, c := range counts {
		p.Routes = append(p.Routes, c.Route)
		p.Requests = append(p.Requests, c.Requests)
		p.Refused = append(p.Refused, c.Refused)
		p.Failed = append(p.Failed, c.Failed)
	}
	return frame.Classify(s.q.CountRequests(ctx, p))
}

// RequestMinute is how many requests were answered in a minute.
type RequestMinute struct {
	Minute                    time.Time
	Requests, Refused, Failed int64 // as in RouteCount
}

// RequestsByMinute returns the requests of the last minutes, at most 360, oldest first. A minute without requests is
// missing. Errors: those of ReadOps.
func (s *Store) RequestsByMinute(ctx context.Context, minutes int) ([]RequestMinute, error) {
	rows, err := readSums(ctx, s, func(q *query.Queries, ctx context.Context) ([]query.RequestsByMinuteRow, error) {
		return q.RequestsByMinute(ctx, sampleAge(minutes))
	})
	return convertRows(rows, func(r query.RequestsByMinuteRow) RequestMinute { return RequestMinute(r) }), err
}

// RequestsByRoute returns the requests of the last minutes, at most 360, and of the present one, by route: those with
// the most failures first, then those with the most refusals; at most 200. Errors: those of ReadOps.
func (s *Store) RequestsByRoute(ctx context.Context, minutes int) ([]RouteCount, error) {
	rows, err := readSums(ctx, s, func(q *query.Queries, ctx context.Context) ([]query.RequestsByRouteRow, error) {
		// The statement compares with the beginning of each minute: one minute more, since the present one is not over.
		return q.RequestsByRoute(ctx, time.Duration(min(minutes, maxSampleMinutes)+1)*time.Minute)
	})
	return convertRows(rows, func(r query.RequestsByRouteRow) RouteCount { return RouteCount(r) }), err
}
