package worker

import (
	"context"

	"github.com/lattice-director/director/db"
)

// vacuumer vacuums small tables whose rows are replaced faster than autovacuum visits them.
type vacuumer struct{ store *db.Store }

func (v vacuumer) runOnce(ctx context.Context) (Done, error) {
	tables, err := v.store.VacuumWorn(ctx)
	done := Done{}
	done.add("tables_vacuumed", tables)
	return done, err
}
