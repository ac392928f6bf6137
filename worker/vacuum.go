package worker

import (
	"context"

	"github.com/lattice-director/director/db"
)

// cleaner vacuums small tables whose rows are replaced faster than autovacuum visits them.
type cleaner struct{ store *db.Store }

func (c cleaner) runOnce(ctx context.Context) (Done, error) {
	tables, err := c.store.VacuumWorn(ctx)
	done := Done{}
	done.add("tables_vacuumed", tables)
	return done, err
}
