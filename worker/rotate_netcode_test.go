package worker

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/token"
)

// sealedDeployment inserts a deployment whose netcode key is 32 times the byte.
func (b *bundle) sealedDeployment(s *token.Sealer, phase string, key byte) uuid.UUID {
	b.t.Helper()
	id := uuid.New()
	sealed, by := s.SealSecret(token.PurposeNetcode, "eu", id.String(), bytes.Repeat([]byte{key}, 32))
	b.AddAppVersion(map[string]any{"dialect": "netcode102", "protocol_id": "1"})
	b.AddDeployment(id, map[string]any{"phase": phase, "endpoint": "h:1", "incarnation": uuid.New(), "netcode_key": sealed, "sealed_by": by})
	return id
}

func (b *bundle) phase(id uuid.UUID) string {
	b.t.Helper()
	return storetest.One[string](b.DB, "SELECT phase || ' ' || desired || coalesce(' ' || reason, '') FROM deployments WHERE id = $1", id)
}

// Pins a key-encryption key that can never be retired because a server's key stays sealed by it.
func TestRotateResealsTheKeysOfDeployments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	once(t, loopOf(t, b.options(), "rotate"))
	ready, draining := b.sealedDeployment(keytest.Sealer(t, 1), "ready", 7), b.sealedDeployment(keytest.Sealer(t, 1), "draining", 8)
	newer := loopOf(t, b.options(2), "rotate")
	require.Equal(t, Done{"resealed": 2, "netcode_resealed": 2}, once(t, newer))
	require.Empty(t, once(t, newer))
	for id, key := range map[uuid.UUID]byte{ready: 7, draining: 8} {
		sealed := storetest.One[[]byte](b.DB, "SELECT netcode_key FROM deployments WHERE id = $1", id)
		secret, err := keytest.Sealer(t, 2).OpenSecret(token.PurposeNetcode, "eu", id.String(), sealed)
		require.NoError(t, err, "the new key-encryption key alone opens it")
		require.Equal(t, bytes.Repeat([]byte{key}, 32), secret)
	}
	require.Equal(t, 1, storetest.One[int](b.DB, "SELECT count(*) FROM ops.key_encryption_keys"))
}

// A deployment whose key was changed, or copied from another row, is replaced; the others are resealed all the same.
func TestRotateDrainsDeploymentsWhoseKeysDoNotOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	once(t, loopOf(t, b.options(), "rotate"))
	s := keytest.Sealer(t, 1)
	good, swapped, starting, ending := b.sealedDeployment(s, "ready", 1), b.sealedDeployment(s, "ready", 2), b.sealedDeployment(s, "starting", 3), b.sealedDeployment(s, "stopping", 4)
	b.Exec("UPDATE deployments SET netcode_key = (SELECT netcode_key FROM deployments WHERE id = $1) WHERE id <> $1", good)

	done, err := loopOf(t, b.options(2), "rotate").runOnce(t.Context())
	require.ErrorIs(t, err, token.ErrSealed)
	require.Equal(t, Done{"resealed": 2, "netcode_resealed": 1, "netcode_drained": 2}, done)
	require.Equal(t, "ready running", b.phase(good))
	require.Equal(t, "draining running netcode_key_lost", b.phase(swapped))
	require.Equal(t, "starting stopped netcode_key_lost", b.phase(starting))
	require.Equal(t, "stopping running", b.phase(ending))
}

// Pins a worker with a wrong setting that replaces all servers: a key-encryption key is lost only when no published
// signing key needs it.
func TestRotateDrainsNothingForAKeyEncryptionKeyThatIsInUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	once(t, loopOf(t, b.options(), "rotate"))
	id := b.sealedDeployment(keytest.Sealer(t, 1), "ready", 1)
	wrong := b.options()
	wrong.Sealer = keytest.Sealer(t, 9)
	done, err := loopOf(t, wrong, "rotate").runOnce(t.Context())
	require.ErrorIs(t, err, token.ErrSealed)
	require.Empty(t, done)
	require.Equal(t, "ready running", b.phase(id))

	b.Exec("UPDATE signing_keys SET tainted_at = now()") // as the runbook says for a key-encryption key that is lost
	done, err = loopOf(t, wrong, "rotate").runOnce(t.Context())
	require.ErrorIs(t, err, token.ErrSealed)
	require.Equal(t, 1, done["netcode_drained"])
	require.Equal(t, "draining running netcode_key_lost", b.phase(id))
}
