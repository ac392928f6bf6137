package server

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
)

// countEvery is how old the counts in ops.request_minutes may be.
const countEvery = 10 * time.Second

// countRequests stores how many requests this replica has answered since the last call. If the answer of the database is
// lost, they may be counted twice.
func (s *Server) countRequests(ctx context.Context) error {
	taken := s.options.Metrics.HTTP.TakeCounts()
	if len(taken) == 0 {
		return nil
	}
	counts := make([]db.RouteCount, len(taken))
	for i, c := range taken {
		counts[i] = db.RouteCount(c)
	}
	if err := s.options.Store.CountRequests(ctx, counts); err != nil {
		// These requests are counted with those of the next call.
		s.options.Metrics.HTTP.ReturnCounts(taken)
		return err
	}
	return nil
}
