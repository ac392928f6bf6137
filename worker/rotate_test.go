package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/token"
)

// Pins two signing keys for one period, and a fleet without a next key.
func TestTenWorkersMakeEachKeyOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, Done{"keys": 2}, b.race(10, "rotate", b.options()), "the first one, and the next")
	require.Equal(t, 2, storetest.One[int](b.DB, "SELECT count(*) FROM signing_keys"))

	for turn := range 3 {
		b.pass(testPolicy.Period)
		require.Equal(t, Done{"keys": 1}, b.race(10, "rotate", b.options()), "rotation %d", turn)
		require.Equal(t, turn+3, storetest.One[int](b.DB, "SELECT count(*) FROM signing_keys"))
		require.Equal(t, 1, storetest.One[int](b.DB, "SELECT count(*) FROM ops.keys WHERE state = 'signing'"))
		require.Equal(t, 1, storetest.One[int](b.DB, "SELECT count(*) FROM ops.keys WHERE state = 'next'"))
	}
	require.Empty(t, b.race(10, "rotate", b.options()), "nothing is due")
}

// pass makes the keys older by d, one after the other: a constraint forbids that two sign at the same time.
func (b *bundle) pass(d time.Duration) {
	b.t.Helper()
	for _, kid := range storetest.One[[]string](b.DB, "SELECT array_agg(kid ORDER BY sign_from) FROM signing_keys") {
		b.Exec(`UPDATE signing_keys SET publish_at = publish_at - $2::interval, sign_from = sign_from - $2::interval,
			sign_until = sign_until - $2::interval, verify_until = verify_until - $2::interval WHERE kid = $1`, kid, d)
	}
}

// Pins a key-encryption key that can never be retired because rows stay sealed by it.
func TestRotateResealsWithTheFirstKEK(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, Done{"keys": 2}, once(t, loopOf(t, b.options(), "rotate")))

	newer := loopOf(t, b.options(2), "rotate")
	require.Equal(t, Done{"resealed": 2}, once(t, newer))
	require.Empty(t, once(t, newer))

	keys, _, err := b.Keys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 2)
	for _, k := range keys {
		_, err := keytest.Sealer(t, 2).Open(token.Material(k.Material))
		require.NoError(t, err, "the new key-encryption key alone opens it")
	}
}

// Pins one key that cannot be opened and so leaves all others under the old key-encryption key, or is not reported.
func TestRotateContinuesAfterAKeyItCannotOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	once(t, loopOf(t, b.options(), "rotate"))
	b.Exec("UPDATE signing_keys SET sealed_private = '\\x00' WHERE sign_from > now()")

	done, err := loopOf(t, b.options(2), "rotate").runOnce(t.Context())
	require.ErrorIs(t, err, token.ErrSealed)
	require.Equal(t, Done{"resealed": 1}, done)
}

// Pins a worker with a wrong key-encryption key that creates a key which no replica can open: the next replica that
// starts refuses all keys.
func TestRotateCreatesNoKeyBesideOneItCannotOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	once(t, loopOf(t, b.options(), "rotate"))
	b.pass(testPolicy.Period)
	wrong := b.options()
	wrong.Sealer = keytest.Sealer(t, 7)
	done, err := loopOf(t, wrong, "rotate").runOnce(t.Context())
	require.ErrorIs(t, err, token.ErrSealed)
	require.Zero(t, done["keys"])
	require.Equal(t, Done{"keys": 1}, once(t, loopOf(t, b.options(), "rotate")))
}

// Pins a tainted key that leaves the fleet without a next key until the tainted key's period is over.
func TestRotateReplacesATaintedKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rotate := loopOf(t, b.options(), "rotate")
	once(t, rotate)
	keys, _, err := b.Keys(t.Context())
	require.NoError(t, err)
	require.NoError(t, b.TaintKey(t.Context(), keys[0].Material.KID))

	_, err = rotate.runOnce(t.Context())
	require.NoError(t, err)
	b.pass(testPolicy.Lead)
	_, err = rotate.runOnce(t.Context())
	require.NoError(t, err)
	keys, now, err := b.Keys(t.Context())
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(keys, func(k db.SigningKey) bool {
		return !now.Before(k.SignFrom) && now.Before(k.SignUntil)
	}), "the replacement signs once verifiers know it")
}
