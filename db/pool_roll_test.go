package db_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
)

// Pins a server of the version before that takes players after a roll: it registered, and became ready, while the roll
// waited for another server.
func TestAServerThatBecomesReadyDuringARollTakesNoPlayers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.declare([]provision.AppVersion{arenaVersion("v1"), arenaVersion("v2")}, euPool("v1", "duel", "solo"))
	held := b.deployed("v1", "ready")
	id := uuid.MustParse(b.deployed("v1", "starting"))
	b.Exec("UPDATE deployments SET incarnation = NULL, endpoint = NULL, "+providerReady+" WHERE id = $1", id)

	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM instances WHERE id = $1 FOR NO KEY UPDATE", held)
	require.NoError(t, err)
	rolled := make(chan error, 1)
	go func() {
		_, err := b.RollPool(b.t.Context(), provision.PoolEdit{Region: "eu", App: "arena", Version: "v1"}, "v2")
		rolled <- err
	}()
	b.AwaitBlocked(1)
	b.requireJoined(id, "boot", func(r *db.Registration) { r.Capacity = 8 })
	require.Equal(t, "ready", b.phaseOf(id))
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-rolled)

	require.Equal(t, "draining", b.phaseOf(id))
	require.Equal(t, []string{"draining", "draining"}, one[[]string](b, "SELECT array_agg(status) FROM instances"))
	_ = b.refusal(request("ann", 2))
}
