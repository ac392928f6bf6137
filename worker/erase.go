package worker

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
)

// eraseInterval lets an erasure begin within a second of the statement that asked for it.
const eraseInterval = 900 * time.Millisecond

// eraseBatch is how many erasures a run continues.
const eraseBatch = 16

// eraser continues the erasure of players: those that an operator asked for in SQL, those whose process has stopped,
// and the last pass of each.
type eraser struct {
	store *db.Store
}

func (e eraser) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	open, err := e.store.OpenErasures(ctx, eraseBatch)
	// An error does not end the run: what was read is continued.
	failed := []error{err}
	for _, id := range open {
		erasure, err := e.store.ContinueErasure(ctx, id)
		failed = append(failed, err)
		if err == nil && erasure.FinishedAt != nil {
			done.add("players_erased", 1)
		}
	}
	return done, errors.Join(failed...)
}
