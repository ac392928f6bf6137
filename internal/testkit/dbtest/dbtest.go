package dbtest

import (
	"context"
	"sync"
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

// Empty is like [New] without any migration applied.
func Empty(t testing.TB) string {
	t.Helper()
	return serverFor(t).createDatabase(t, "template0")
}

// Connect returns a pool on a database of [New], closed when the test ends.
func Connect(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), New(t))
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// theServer is chosen by the first test that needs it.
var theServer = sync.OnceValues(func() (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return chooseServer(ctx)
})

func serverFor(t testing.TB) *server {
	t.Helper()
	s, err := theServer()
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	return s
}
