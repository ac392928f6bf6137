package keymint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/token"
)

// Another replica must be able to open a new key.
func TestWhatIsMintedOpensElsewhere(t *testing.T) {
	t.Parallel()
	made, err := keymint.With(keytest.Sealer(t, 1), token.AlgEdDSA)(nil)
	require.NoError(t, err)
	_, err = keytest.Sealer(t, 1).Open(token.Material(made))
	require.NoError(t, err)
	require.NotEmpty(t, made.SealedBy)

	_, err = keymint.With(keytest.Sealer(t, 1), "HS256")(nil)
	require.Error(t, err)
}

// After a change of the key-encryption key, every key must open with the new one, and must be written only once.
func TestResealMovesAKeyOnce(t *testing.T) {
	t.Parallel()
	old, err := keymint.With(keytest.Sealer(t, 1), token.AlgEdDSA)(nil)
	require.NoError(t, err)

	anew, changed, err := keymint.Reseal(keytest.Sealer(t, 2, 1), old)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, old.KID, anew.KID)
	_, err = keytest.Sealer(t, 2).Open(token.Material(anew))
	require.NoError(t, err)

	_, changed, err = keymint.Reseal(keytest.Sealer(t, 2, 1), anew)
	require.NoError(t, err)
	require.False(t, changed)
	_, _, err = keymint.Reseal(keytest.Sealer(t, 3), anew)
	require.ErrorIs(t, err, token.ErrSealed)
}
