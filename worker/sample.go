package worker

import (
	"context"

	"github.com/lattice-director/director/db"
)

// sampler takes the measures of each minute, which the console plots.
type sampler struct {
	store *db.Store
}

func (s sampler) runOnce(ctx context.Context) (Done, error) {
	taken, dropped, err := s.store.TakeSamples(ctx)
	done := Done{}
	done.add("samples", taken)
	done.add("samples_dropped", dropped)
	return done, err
}
