package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// PruneIdempotencyKeys removes stored answers past their time, at most batch. Errors: Unavailable.
func (s *Store) PruneIdempotencyKeys(ctx context.Context, batch int) (int, error) {
	n, err := s.q.PruneIdempotencyKeys(ctx, int32(batch))
	return int(n), classify(err)
}

// PruneRedeemedTokens removes token ids of a region that no valid token can carry any more, at most batch. Errors:
// Unavailable.
func (s *Store) PruneRedeemedTokens(ctx context.Context, region string, batch int) (int, error) {
	n, err := s.q.PruneRedeemedTokens(ctx, PruneRedeemedTokensParams{Region: region, Batch: int32(batch)})
	return int(n), classify(err)
}

// ForgetInstances removes instances of a region that ended longer than keep ago, at most batch. Errors: Unavailable.
func (s *Store) ForgetInstances(ctx context.Context, region string, keep time.Duration, batch int) (int, error) {
	n, err := s.q.ForgetInstances(ctx, ForgetInstancesParams{Region: region, Keep: keep, Batch: int32(batch)})
	return int(n), classify(err)
}

// PruneKeys removes signing keys that no token needed for longer than keep. Errors: Unavailable.
func (s *Store) PruneKeys(ctx context.Context, keep time.Duration) (int, error) {
	n, err := s.q.PruneKeys(ctx, keep)
	return int(n), classify(err)
}

// AnalyzeGrown has the planner look at hot tables that grew by half since it last did, sooner than autovacuum would.
// Any number of workers may race. Errors: Unavailable.
func (s *Store) AnalyzeGrown(ctx context.Context) (tables int, err error) {
	n, err := s.q.AnalyzeGrown(ctx)
	return int(n), classify(err)
}

// VacuumWorn cleans up hot tables in which what is dead outweighs what lives, sooner than autovacuum would: lookups step
// over what is dead. It waits for nobody's lock, and one worker at a time cleans up a table. Errors: Unavailable; a role
// that does not own the tables only gets a warning of Postgres.
func (s *Store) VacuumWorn(ctx context.Context) (tables int, err error) {
	worn, err := s.q.WornTables(ctx)
	if err != nil {
		return 0, classify(err)
	}
	for _, name := range worn {
		if _, err := s.pool.Exec(ctx, "VACUUM (SKIP_LOCKED, TRUNCATE false) "+pgx.Identifier{name}.Sanitize()); err != nil {
			return tables, classify(err)
		}
		tables++
	}
	return tables, nil
}
