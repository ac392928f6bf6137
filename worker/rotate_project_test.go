package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/token"
)

// projectKey makes a key of project p1 and returns its secret.
func (b *bundle) projectKey(s *token.Sealer, id string) string {
	b.t.Helper()
	secret, _, err := b.CreateProjectKey(b.t.Context(),
		db.NewProjectKey{ProjectID: "p1", ID: id, Name: id, Seal: s.NewProjectSecret})
	require.NoError(b.t, err)
	return secret
}

// opened returns the secret of a key, with one key-encryption key.
func (b *bundle) opened(s *token.Sealer, id string) (string, error) {
	sealed := storetest.One[[]byte](b.DB, "SELECT sealed_secret FROM project_keys WHERE id = $1", id)
	secret, err := s.OpenSecret(token.PurposeProject, "p1", id, sealed)
	return string(secret), err
}

// Pins a key-encryption key that can never be retired because a project's key stays sealed by it.
func TestRotateResealsTheKeysOfProjects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	once(t, loopOf(t, b.options(), "rotate"))
	_, err := b.CreateProject(t.Context(), db.NewProject{ID: "p1", Name: "p1", Region: "eu"})
	require.NoError(t, err)
	first, revoked := b.projectKey(keytest.Sealer(t, 1), "first"), b.projectKey(keytest.Sealer(t, 1), "revoked")
	_, err = b.RevokeProjectKey(t.Context(), "p1", "revoked", "test")
	require.NoError(t, err)
	require.Equal(t, 2, storetest.One[int](b.DB, "SELECT project_keys FROM ops.key_encryption_keys"))

	newer := loopOf(t, b.options(2), "rotate")
	require.Equal(t, Done{"resealed": 2, "project_keys_resealed": 2}, once(t, newer))
	require.Empty(t, once(t, newer))
	for id, want := range map[string]string{"first": first, "revoked": revoked} {
		secret, err := b.opened(keytest.Sealer(t, 2), id)
		require.NoError(t, err, "the new key-encryption key alone opens it")
		require.Equal(t, want, secret)
	}
	require.Equal(t, keytest.Sealer(t, 2).First(),
		storetest.One[string](b.DB, "SELECT fingerprint FROM ops.key_encryption_keys"), "the old one can be retired")
}

// A secret that was copied from another key does not open: it is reported and stays, and the others are resealed all
// the same.
func TestRotateReportsKeysOfProjectsThatDoNotOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	once(t, loopOf(t, b.options(), "rotate"))
	_, err := b.CreateProject(t.Context(), db.NewProject{ID: "p1", Name: "p1", Region: "eu"})
	require.NoError(t, err)
	want := b.projectKey(keytest.Sealer(t, 1), "good")
	b.projectKey(keytest.Sealer(t, 1), "swapped")
	b.Exec("UPDATE project_keys SET sealed_secret = (SELECT sealed_secret FROM project_keys WHERE id = 'good') WHERE id = 'swapped'")

	done, err := loopOf(t, b.options(2), "rotate").runOnce(t.Context())
	require.ErrorIs(t, err, token.ErrSealed)
	require.ErrorContains(t, err, "key swapped of project p1")
	require.Equal(t, Done{"resealed": 2, "project_keys_resealed": 1}, done)
	secret, err := b.opened(keytest.Sealer(t, 2), "good")
	require.NoError(t, err)
	require.Equal(t, want, secret)
}

// Pins a corrupt key that is reported once and counts as checked for ten minutes.
func TestRotateReportsAKeyUntilItOpens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rotate := loopOf(t, b.options(), "rotate")
	once(t, rotate)
	_, err := b.CreateProject(t.Context(), db.NewProject{ID: "p1", Name: "p1", Region: "eu"})
	require.NoError(t, err)
	b.projectKey(keytest.Sealer(t, 1), "corrupt")
	b.Exec("UPDATE project_keys SET sealed_secret = set_byte(sealed_secret, 20, 255 - get_byte(sealed_secret, 20))")

	again := loopOf(t, b.options(), "rotate") // it opens all keys in its first run
	for range 2 {
		_, err := again.runOnce(t.Context())
		require.ErrorIs(t, err, token.ErrSealed)
	}
	b.Exec("DELETE FROM project_keys")
	once(t, again)
}
