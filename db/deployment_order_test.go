package db_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
)

// Statements that change several deployments lock them by id, as lists of clients do: else the two deadlock.
func TestDeploymentsAreLockedInOrder(t *testing.T) {
	t.Parallel()
	first, last := uuid.MustParse("00000000-0000-4000-8000-000000000001"), uuid.MustParse("ffffffff-0000-4000-8000-000000000001")
	for name, change := range map[string]func(*bundle) error{
		"roll or delete": func(b *bundle) error {
			_, err := b.DeletePool(b.t.Context(), provision.PoolEdit{Region: "eu", App: "arena", Version: "1"})
			return err
		},
		"drain": func(b *bundle) error {
			_, err := b.DrainDeployments(b.t.Context(), "eu", "key lost", []uuid.UUID{last, first})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t).withPool()
			b.Exec("ALTER TABLE deployments DROP CONSTRAINT deployments_pkey") // its order is the right one by chance
			for tag, id := range []uuid.UUID{last, first} {                    // each index meets them in this order
				b.Exec("INSERT INTO deployments (region, id, app, version, provider, tag) VALUES ('eu', $1, 'arena', '1', 'process', $2)", id, strconv.Itoa(tag))
			}
			tx, err := b.Pool().Begin(t.Context())
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(t.Context()) }()
			lock := func(id uuid.UUID) error {
				_, err := tx.Exec(t.Context(), "SELECT 1 FROM deployments WHERE id = $1 FOR NO KEY UPDATE NOWAIT", id)
				return err
			}
			require.NoError(t, lock(first))
			done := make(chan error, 1)
			go func() { done <- change(b) }()
			b.AwaitBlocked(1)
			require.NoError(t, lock(last))
			require.NoError(t, tx.Commit(t.Context()))
			require.NoError(t, <-done)
		})
	}
}

// A server that becomes ready holds its deployment: it must not wait for a version or its failures that an operator's
// change of pools holds, which then locks deployments.
func TestReadyDoesNotWaitForItsVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("starting", providerReady)
	b.Exec("UPDATE deployments SET provider_ready_at = NULL")
	b.requireJoined(id, "boot-1") // before its provider is ready
	b.Exec("UPDATE deployments SET " + providerReady)
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	for _, table := range []string{"app_versions", "start_pauses"} {
		_, err = tx.Exec(t.Context(), "SELECT 1 FROM "+table+" FOR NO KEY UPDATE")
		require.NoError(t, err)
	}
	ready, err := b.MakeReady(t.Context(), "eu", id)
	require.NoError(t, err)
	require.True(t, ready)
	require.NoError(t, tx.Commit(t.Context()), "it was ended so that the server could become ready")
}

// A server that is to end, or has not started, cannot take players by ending a drain.
func TestUndrainOfDeployments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.deploy("starting", providerReady)
	in := b.requireJoined(id, "boot-1")
	me := db.InstanceRef{InstanceID: in.InstanceID, Incarnation: &in.Incarnation}
	status := func() string { return one[string](b, "SELECT status FROM instances") }
	drain := func(on bool, want string) {
		_, err := b.SetDrain(t.Context(), me, on)
		require.NoError(t, err)
		require.Equal(t, want, status())
	}
	drain(true, "draining")
	drain(false, "ready")
	undrain := "SELECT ops.undrain('" + in.InstanceID + "')"
	for _, ends := range []string{"desired = 'stopped'", "phase = 'draining'"} {
		b.Exec("UPDATE instances SET status = 'draining'")
		b.Exec("UPDATE deployments SET " + ends)
		drain(false, "draining")
		_, err := b.Pool().Exec(t.Context(), undrain)
		require.ErrorContains(t, err, "ends")
		b.Exec("UPDATE deployments SET phase = 'ready', desired = 'running'")
	}
	b.Exec(undrain)
	require.Equal(t, "ready", status())
	b.Exec("UPDATE instances SET status = 'starting'")
	drain(false, "starting")
	_, err := b.Pool().Exec(t.Context(), undrain)
	require.ErrorContains(t, err, "is starting")
	b.Exec(strings.Replace(undrain, "undrain", "drain", 1))
	require.Equal(t, "starting", status())
	b.Exec("UPDATE instances SET status = 'ready'") // as when its deployment is ready
	require.Equal(t, "draining", status())
}
