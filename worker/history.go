package worker

import (
	"context"
	"time"

	"github.com/lattice-director/director/db"
)

// A week: workers may be away over the longest holidays and no row falls into a default partition.
const daysAhead = 7

// historian turns the pages of the tables that are partitioned by day.
type historian struct {
	store     *db.Store
	retention time.Duration
}

func (h historian) runOnce(ctx context.Context) (Done, error) {
	made, dropped, err := h.store.TurnHistory(ctx, daysAhead, h.retention)
	done := Done{}
	done.add("partitions_made", made)
	done.add("partitions_dropped", dropped)
	return done, err
}
