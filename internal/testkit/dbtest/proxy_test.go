package dbtest_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
)

func poolThrough(t *testing.T, p *dbtest.Proxy) *pgxpool.Pool {
	t.Helper()
	pool := must.Get(pgxpool.New(t.Context(), p.URL))(t)
	t.Cleanup(pool.Close)
	return pool
}

func TestAProxyCanBeShutAndOpenedAgain(t *testing.T) {
	t.Parallel()
	p := dbtest.NewProxy(t, dbtest.New(t), nil)
	pool := poolThrough(t, p)
	require.Equal(t, 1, one[int](t, pool, "select 1"))
	p.Shut()
	_, err := pool.Exec(t.Context(), "select 1")
	require.Error(t, err)
	p.Open()
	require.Equal(t, 1, one[int](t, pool, "select 1"))
}

// A network that delivers nothing returns no error, either.
func TestAPausedProxyHoldsAnswersBack(t *testing.T) {
	t.Parallel()
	p := dbtest.NewProxy(t, dbtest.New(t), nil)
	pool := poolThrough(t, p)
	require.Equal(t, 1, one[int](t, pool, "select 1"))
	p.Pause()
	answered := make(chan error, 1)
	go func() { answered <- pool.Ping(t.Context()) }()
	select {
	case err := <-answered:
		require.Fail(t, "answered during the pause", err)
	case <-time.After(50 * time.Millisecond):
	}
	p.Resume()
	require.NoError(t, <-answered)
}

// A test that fails during a pause must end.
func TestAPausedProxyEnds(t *testing.T) {
	t.Parallel()
	dbtest.NewProxy(t, dbtest.New(t), nil).Pause()
}

func TestAProxyForwardsAsItIsTold(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	p := dbtest.NewProxy(t, dbtest.New(t), func(_ context.Context, client, server net.Conn) {
		connections.Add(1)
		go func() { _, _ = io.Copy(server, client) }()
		_, _ = io.Copy(client, server)
	})
	pool := poolThrough(t, p)
	require.Equal(t, 1, one[int](t, pool, "select 1"))
	require.Equal(t, int32(1), connections.Load())
}
