package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
)

// SchemaVersion returns the number of the newest migration that the database has; 0 when it has none. Errors:
// Unavailable.
func (s *Store) SchemaVersion(ctx context.Context) (int64, error) {
	version, err := s.q.SchemaVersion(ctx)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42883" { // undefined_function: the first migration makes it
		return 0, nil
	}
	return version, frame.Classify(err)
}

// RestoredFromDump reports whether the database was restored from a dump and has rows of transactions whose numbers
// this server has not reached yet: feeds hide these rows until 'director migrate up' renumbers them. Errors:
// Unavailable.
func (s *Store) RestoredFromDump(ctx context.Context) (bool, error) {
	restored, err := s.q.RestoredFromDump(ctx)
	return restored, frame.Classify(err)
}
