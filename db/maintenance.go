package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// AnalyzeGrown has the planner look at hot tables that grew by half since it last did, sooner than autovacuum would.
// Any number of workers may race. Errors: Unavailable.
func (s *Store) AnalyzeGrown(ctx context.Context) (tables int, err error) {
	n, err := s.q.AnalyzeGrown(ctx)
	return int(n), classify(err)
}

// VacuumWorn cleans up hot tables in which what is dead outweighs what lives, sooner than autovacuum would: lookups step
// over what is dead. It skips locked tables, and one worker at a time cleans up a table. Errors: Unavailable; a role
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

// OldestSnapshotAge returns how long the oldest snapshot has prevented vacuum from cleaning. Errors: Unavailable.
func (s *Store) OldestSnapshotAge(ctx context.Context) (time.Duration, error) {
	seconds, err := s.q.OldestSnapshotAge(ctx)
	return time.Duration(seconds * float64(time.Second)), classify(err)
}
