package conn_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/internal/conn"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins a pool whose calls waited for a server without power until their deadlines, one after the other, with all its
// connections.
func TestASilentServerCostsItsConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	proxy := dbtest.NewProxy(t, url, nil)
	config, err := pgxpool.ParseConfig(proxy.URL)
	require.NoError(t, err)
	config.MaxConns = 3
	pool, err := conn.OpenPool(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	busy, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	idle, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	idle.Release()
	<-time.After(1100 * time.Millisecond) // Postgres and the pool's clock are real: connections that were idle for less are not checked

	proxy.Pause()
	failed := make(chan error, 1)
	go func() {
		defer busy.Release()
		_, err := busy.Exec(t.Context(), "SELECT 1") // has no deadline
		failed <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err = pool.Exec(ctx, "SELECT 1")
	require.Error(t, err)
	require.Error(t, <-failed, "the connection in use was ended, too")
	proxy.Resume()
	_, err = pool.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err)
}
