package db

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match"
)

// Pins the error "cannot be reached" when all connections for large reads are in use.
func TestReadersInUseAreNoOutage(t *testing.T) {
	t.Parallel()
	store := storeWith(t, "SELECT 1")
	for range store.readerPool.Config().MaxConns {
		conn, err := store.readerPool.Acquire(t.Context())
		require.NoError(t, err)
		t.Cleanup(conn.Release)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := store.QueryTickets("eu", match.Pool{}, true).Next(ctx)
	require.True(t, fault.Is(err, fault.TooMany), "%v", err)
	require.ErrorContains(t, err, "too many queries are being read")
	_, err = store.CountTickets(ctx, "eu", match.Pool{})
	require.True(t, fault.Is(err, fault.TooMany), "%v", err)
	_, err = store.QueryBackfills("eu", match.Pool{}).Next(ctx)
	require.True(t, fault.Is(err, fault.TooMany), "%v", err)

	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err = store.QueryTickets("eu", match.Pool{}, true).Next(gone)
	require.ErrorIs(t, err, context.Canceled)
}

// Pins a page of the console that tells a caller that left to try again, which counts as a refusal, and one that waits
// for ever.
func TestPagesInUseAreNoOutage(t *testing.T) {
	t.Parallel()
	store := storeWith(t, "SELECT 1")
	for range maxConsoleReads {
		store.consoleReads <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := store.FleetModes(ctx)
	require.True(t, fault.Is(err, fault.TooMany), "%v", err)
	require.ErrorContains(t, err, "too many pages are being read")

	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err = store.FleetModes(gone)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, fault.Is(err, fault.TooMany), "%v", err)
}
