package token

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/must"
)

func secretOf(b byte) []byte { return bytes.Repeat([]byte{b}, KEKBytes) }

// sealedThen returns fuzzKey as sealed by the first version of the format, and a sealer with its key-encryption key.
func sealedThen(t require.TestingT) (*Sealer, Material) {
	sealer := must.Get(NewSealer(secretOf(2), secretOf(1)))(t)
	sealed := must.Get(hex.DecodeString("0138180470e3d09efbadce47fabdab12e20ad4ddcaa1ea39d4e95466e2298d1ec57972bbf0adbde28eec5e0496" +
		"99f0dddfaeeb76361e9c67aec1b5e1fc974a24360d13186b"))(t)
	return sealer, Material{KID: "RdsIdO3CsMDzCjNZvzh9oqMmTgMASg3jgoAi8dXZLIQ", Alg: AlgEdDSA, Sealed: sealed}
}

// Every later build must open keys that were sealed by this format.
func TestSealedFormatStays(t *testing.T) {
	t.Parallel()
	sealer, m := sealedThen(t)
	private, err := sealer.Open(m)
	require.NoError(t, err)
	require.Equal(t, fuzzKey, private)
}

func TestSealRoundTrip(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	m, err := sealer.Mint(AlgEdDSA)
	require.NoError(t, err)
	private, err := sealer.Open(m)
	require.NoError(t, err)
	require.NotContains(t, string(m.Sealed), string(private.Seed()), "the seed is encrypted")
	require.Equal(t, hex.EncodeToString(m.Sealed[1:9]), m.SealedBy)
	require.NotContains(t, m.SealedBy, hex.EncodeToString(secretOf(0)[:8]))
}

// Two seals of one key must differ: a repeated nonce would reveal the key of GCM.
func TestSealIsRandomised(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	m, err := sealer.Mint(AlgEdDSA)
	require.NoError(t, err)
	private, err := sealer.Open(m)
	require.NoError(t, err)
	again := m
	sealer.sealKey(&again, private)
	require.NotEqual(t, m.Sealed, again.Sealed)
}

// A sealed key does not open after it was copied to another row, truncated, or changed in any bit.
func TestOpenRefusesChangedKeys(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	a, err := sealer.Mint(AlgEdDSA)
	require.NoError(t, err)
	b, err := sealer.Mint(AlgEdDSA)
	require.NoError(t, err)

	moved := a
	moved.Sealed = b.Sealed
	_, err = sealer.Open(moved)
	require.ErrorIs(t, err, ErrSealed)

	rapid.Check(t, func(t *rapid.T) {
		changed := a
		changed.Sealed = bytes.Clone(a.Sealed)
		bit := rapid.IntRange(0, 8*len(changed.Sealed)-1).Draw(t, "bit")
		changed.Sealed[bit/8] ^= 1 << (bit % 8)
		_, err := sealer.Open(changed)
		require.ErrorIs(t, err, ErrSealed)
		changed.Sealed = a.Sealed[:rapid.IntRange(0, len(a.Sealed)-1).Draw(t, "length")]
		_, err = sealer.Open(changed)
		require.ErrorIs(t, err, ErrSealed)
	})
}

// If the kid were not the thumbprint of the key, one key could replace another.
func TestOpenRefusesKidThatIsNotTheThumbprint(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	m, err := sealer.Mint(AlgEdDSA)
	require.NoError(t, err)
	private, err := sealer.Open(m)
	require.NoError(t, err)
	m.KID = "chosen"
	sealer.sealKey(&m, private)
	_, err = sealer.Open(m)
	require.ErrorIs(t, err, ErrSealed)
}

// The rotation of a key-encryption key: put the new one first, reseal, remove the old one.
func TestResealRotatesKeyEncryptionKeys(t *testing.T) {
	t.Parallel()
	before, err := NewSealer(secretOf(1))
	require.NoError(t, err)
	during, err := NewSealer(secretOf(2), secretOf(1))
	require.NoError(t, err)
	after, err := NewSealer(secretOf(2))
	require.NoError(t, err)

	m, err := before.Mint(AlgEdDSA)
	require.NoError(t, err)
	_, err = after.Open(m)
	require.ErrorIs(t, err, ErrSealed)
	require.ErrorContains(t, err, m.SealedBy, "the error must name the key-encryption key that is missing")

	resealed, changed, err := during.Reseal(m)
	require.NoError(t, err)
	require.True(t, changed)
	require.NotEqual(t, m.SealedBy, resealed.SealedBy)
	want, err := before.Open(m)
	require.NoError(t, err)
	got, err := after.Open(resealed)
	require.NoError(t, err)
	require.Equal(t, want, got)

	same, changed, err := during.Reseal(resealed)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, resealed, same)
	_, _, err = after.Reseal(m)
	require.ErrorIs(t, err, ErrSealed)
}

func TestNewSealerRefusesWrongLengths(t *testing.T) {
	t.Parallel()
	for _, keks := range [][][]byte{nil, {nil}, {secretOf(1)[:31]}, {append(secretOf(1), 1)}, {secretOf(1), secretOf(2)[:16]}} {
		_, err := NewSealer(keks...)
		require.Error(t, err)
	}
}

func TestParseKEKs(t *testing.T) {
	t.Parallel()
	a, b := secretOf(0xfb), secretOf(0xff) // Their base64 holds the two characters in which the alphabets differ.
	std, url := base64.StdEncoding.EncodeToString(a), base64.RawURLEncoding.EncodeToString(b)
	keks, err := ParseKEKs(" " + std + " , " + url + "\n")
	require.NoError(t, err)
	require.Equal(t, [][]byte{a, b}, keks)

	for _, bad := range []string{"", ",", std + ",", "se(ret", std[:20], std + std, std + ";" + url} {
		_, err := ParseKEKs(bad)
		require.Error(t, err, bad)
		if len(bad) > 3 {
			require.NotContains(t, err.Error(), strings.Trim(bad, ",")[:5], "an error must not quote a secret")
		}
	}
}
