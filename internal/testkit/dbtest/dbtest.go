package dbtest

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// New returns the URL of a database of this test's own, with all migrations applied.
func New(t testing.TB) string {
	t.Helper()
	s := serverFor(t)
	template, err := s.template()
	if err != nil {
		t.Fatalf("dbtest: the template database: %v", err)
	}
	return s.createDatabase(t, template)
}

// Empty returns the URL of a database of this test's own without any migration applied.
func Empty(t testing.TB) string {
	t.Helper()
	return serverFor(t).createDatabase(t, "template0")
}

// Connect returns a pool on a new database, with all migrations applied. It is closed when the test ends.
func Connect(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), New(t))
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}
