package token

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

func sealerOf(t require.TestingT, keks ...byte) *Sealer {
	var all [][]byte
	for _, k := range keks {
		all = append(all, bytes.Repeat([]byte{k}, KEKBytes))
	}
	return must.Get(NewSealer(all...))(t)
}

// Pins cookies that only the replica that made them can open, also while the key-encryption key is rotated.
func TestCookiesOpenOnEveryReplica(t *testing.T) {
	t.Parallel()
	sealed := sealerOf(t, 1).Cookies().Seal("session", []byte("alice"))
	value, err := sealerOf(t, 2, 1).Cookies().Open("session", sealed)
	require.NoError(t, err)
	require.Equal(t, "alice", string(value))
}

// Pins cookies that open for another purpose, changed, truncated, or without their key-encryption key.
func TestCookiesRefuse(t *testing.T) {
	t.Parallel()
	c := sealerOf(t, 1).Cookies()
	sealed := c.Seal("session", []byte("alice"))
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	require.NoError(t, err)
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 1
		_, err := c.Open("session", base64.RawURLEncoding.EncodeToString(changed))
		require.ErrorIs(t, err, ErrSealed, "byte %d", i)
	}
	for _, text := range []string{"", "!", sealed + "=", sealed + "\n", sealed[:len(sealed)-4], base64.RawURLEncoding.EncodeToString(raw[:8])} {
		_, err := c.Open("session", text)
		require.ErrorIs(t, err, ErrSealed, text)
	}
	_, err = c.Open("login", sealed)
	require.ErrorIs(t, err, ErrSealed)
	_, err = sealerOf(t, 2).Cookies().Open("session", sealed)
	require.ErrorIs(t, err, ErrSealed)
	require.NotEqual(t, sealed, c.Seal("session", []byte("alice")), "each has a nonce of its own")
}
