package token

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every later build must open secrets that were sealed by this format.
func TestSealedSecretFormatStays(t *testing.T) {
	t.Parallel()
	sealer, _ := sealedThen(t)
	sealed, err := hex.DecodeString("02e63596f6514b7e3d2996305273c1a8879e102223073f68afafe48fb87db965dce7b2050f95be0b" +
		"1f7fc8ac1a5f029e13b995c5b3e747d11d547ca87a1e4f31323aba89c0")
	require.NoError(t, err)
	secret, err := sealer.OpenSecret(PurposeNetcode, "eu", "0192", sealed)
	require.NoError(t, err)
	require.Equal(t, secretOf(9), secret)
}

// A sealed secret does not open for another purpose, region or id, also where the words are the same if they are
// written one after the other, nor after any bit of it changed.
func TestSealedSecretBelongsToItsRow(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab\x00]{0,3}`)
		row := rapid.Custom(func(t *rapid.T) [3]string {
			return [3]string{word.Draw(t, "purpose"), word.Draw(t, "region"), word.Draw(t, "id")}
		})
		own, other := row.Draw(t, "row"), row.Draw(t, "another row")
		secret := rapid.SliceOf(rapid.Byte()).Draw(t, "secret")
		sealed, by := sealer.SealSecret(own[0], own[1], own[2], secret)
		if got, err := sealer.OpenSecret(other[0], other[1], other[2], sealed); own == other {
			require.NoError(t, err)
			require.Equal(t, secret, append([]byte{}, got...))
		} else {
			require.ErrorIs(t, err, ErrSealed)
		}
		require.Equal(t, hex.EncodeToString(sealed[1:9]), by)
		changed := bytes.Clone(sealed)
		bit := rapid.IntRange(0, 8*len(sealed)-1).Draw(t, "bit")
		changed[bit/8] ^= 1 << (bit % 8)
		_, err := sealer.OpenSecret(own[0], own[1], own[2], changed)
		require.ErrorIs(t, err, ErrSealed)
	})
}

// A row of one table must not open as a row of the other, whatever an attacker writes into its columns: a key that the
// director publishes or hands to game servers would be the other one.
func TestSigningKeysAndSecretsDoNotOpenAsEachOther(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	m, err := sealer.Mint(AlgEdDSA)
	require.NoError(t, err)
	for _, version := range []byte{sealVersion, secretVersion} {
		asSecret := append([]byte{version}, m.Sealed[1:]...)
		for _, words := range [][3]string{{m.KID}, {"", "", m.KID}, {PurposeNetcode, "eu", m.KID}} {
			_, err = sealer.OpenSecret(words[0], words[1], words[2], asSecret)
			require.ErrorIs(t, err, ErrSealed)
		}
		sealed, by := sealer.SealSecret(PurposeNetcode, "eu", m.KID, secretOf(1))
		sealed[0] = version
		for _, kid := range []string{m.KID, string(secretData(PurposeNetcode, "eu", m.KID))} {
			_, err = sealer.Open(Material{KID: kid, Alg: AlgEdDSA, Sealed: sealed, SealedBy: by})
			require.ErrorIs(t, err, ErrSealed)
		}
	}
}

func TestResealSecretRotatesKeyEncryptionKeys(t *testing.T) {
	t.Parallel()
	before, err := NewSealer(secretOf(1))
	require.NoError(t, err)
	during, err := NewSealer(secretOf(2), secretOf(1))
	require.NoError(t, err)
	after, err := NewSealer(secretOf(2))
	require.NoError(t, err)

	old, oldBy := before.SealSecret(PurposeNetcode, "eu", "d", secretOf(9))
	_, err = after.OpenSecret(PurposeNetcode, "eu", "d", old)
	require.ErrorContains(t, err, oldBy, "the error must name the key-encryption key that is missing")

	sealed, by, changed, err := during.ResealSecret(PurposeNetcode, "eu", "d", old)
	require.NoError(t, err)
	require.True(t, changed)
	require.NotEqual(t, oldBy, by)
	secret, err := after.OpenSecret(PurposeNetcode, "eu", "d", sealed)
	require.NoError(t, err)
	require.Equal(t, secretOf(9), secret)

	same, sameBy, changed, err := during.ResealSecret(PurposeNetcode, "eu", "d", sealed)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, sealed, same)
	require.Equal(t, by, sameBy)
}
