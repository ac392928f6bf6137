package server

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
)

// reportEvery is the interval of the reports in ops.process_reports: doctor takes a process for frozen that misses
// three.
const reportEvery = 5 * time.Second

// reportState stores what this replica reports of itself, and tests whether the database takes writes.
func (s *Server) reportState(ctx context.Context) error {
	return s.options.Store.ReportProcess(ctx, s.keySetTroubles())
}

// keySetTroubles are what this replica reports of its key sets.
func (s *Server) keySetTroubles() (all []db.Trouble) {
	for _, k := range s.keySets() {
		if t, found := k.findTrouble(); found {
			all = append(all, t)
		}
	}
	return all
}
