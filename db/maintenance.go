package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
)

// AnalyzeGrown analyzes hot tables that have grown by half since they were analyzed last, sooner than autovacuum does.
// Any number of workers may call it at once. Errors: Unavailable.
func (s *Store) AnalyzeGrown(ctx context.Context) (tables int, err error) {
	n, err := s.q.AnalyzeGrown(ctx)
	return int(n), frame.Classify(err)
}

// VacuumWorn vacuums hot tables with more dead rows than live ones, sooner than autovacuum does: dead rows slow lookups
// down. It skips locked tables, so one worker at a time vacuums a table. For a role that does not own the tables,
// Postgres writes a warning and vacuums nothing, which is no error. Errors: Unavailable.
func (s *Store) VacuumWorn(ctx context.Context) (tables int, err error) {
	worn, err := s.q.WornTables(ctx)
	if err != nil {
		return 0, frame.Classify(err)
	}
	for _, name := range worn {
		if _, err := s.pool.Exec(ctx, "VACUUM (SKIP_LOCKED, TRUNCATE false) "+
			pgx.Identifier{name}.Sanitize()); err != nil {
			return tables, frame.Classify(err)
		}
		tables++
	}
	return tables, nil
}

// OldestSnapshotAge returns how long the oldest snapshot has prevented vacuum from cleaning. Errors: Unavailable.
func (s *Store) OldestSnapshotAge(ctx context.Context) (time.Duration, error) {
	seconds, err := s.q.OldestSnapshotAge(ctx)
	return time.Duration(seconds * float64(time.Second)), frame.Classify(err)
}
