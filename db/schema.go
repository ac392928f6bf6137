package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// SchemaVersion is the newest migration the database has; 0 when it has none. Errors: Unavailable.
func (s *Store) SchemaVersion(ctx context.Context) (int64, error) {
	version, err := s.q.SchemaVersion(ctx)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42883" { // undefined_function: the first migration makes it
		return 0, nil
	}
	return version, classify(err)
}

// RestoredFromDump tells whether the database was restored from a dump and its rows name transactions that this server has not
// counted up to yet: feeds hide them until 'director migrate up' numbers them anew. Errors: Unavailable.
func (s *Store) RestoredFromDump(ctx context.Context) (bool, error) {
	restored, err := s.q.RestoredFromDump(ctx)
	return restored, classify(err)
}
