package worker

import (
	"context"

	"github.com/lattice-director/director/db"
)

// Partitions exist a week ahead: even when no worker runs over long holidays, no row falls into a default partition.
const daysAhead = 7

// historian creates and drops the partitions of the tables that are partitioned by day.
type historian struct {
	store     *db.Store
	retention db.Retention
}

func (h historian) runOnce(ctx context.Context) (Done, error) {
	turn, err := h.store.TurnHistory(ctx, daysAhead, h.retention)
	done := Done{}
	done.add("partitions_made", turn.PartitionsMade)
	done.add("partitions_dropped", turn.PartitionsDropped)
	done.add("default_partitions_replaced", turn.DefaultsReplaced)
	done.add("default_rows_deleted", turn.RowsPruned)
	return done, err
}
