package worker

import (
	"context"

	"github.com/lattice-director/director/db"
)

// analyst refreshes the planner's statistics of hot tables that grow faster than autoanalyze runs.
type analyst struct{ store *db.Store }

func (a analyst) runOnce(ctx context.Context) (Done, error) {
	tables, err := a.store.AnalyzeGrown(ctx)
	done := Done{}
	done.add("tables_analyzed", tables)
	return done, err
}
