package worker

import (
	"context"

	"github.com/lattice-director/director/db"
)

// cleaner keeps small tables small whose rows come and go faster than autovacuum looks at them.
type cleaner struct{ store *db.Store }

func (c cleaner) runOnce(ctx context.Context) (Done, error) {
	tables, err := c.store.VacuumWorn(ctx)
	done := Done{}
	done.add("tables_vacuumed", tables)
	return done, err
}
