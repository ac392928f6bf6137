// Package storetest opens stores for tests, and fills and reads their databases. Package dbtest makes the databases,
// and cannot import package db.
package storetest

import (
	"testing"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/variant"
)

// Open opens a store on a database, as a replica does, and closes it when the test ends. Its timeouts are a minute,
// because a machine that runs all tests at once is slow. changes may set other values.
func Open(t testing.TB, url string, changes ...func(*db.Config)) *db.Store {
	t.Helper()
	cfg := variant.Apply(db.Config{URL: url, MaxConns: 8, BatchTimeout: time.Minute, HoldTimeout: time.Minute},
		changes...)
	store, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	t.Cleanup(store.Close)
	return store
}
