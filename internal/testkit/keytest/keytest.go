// Package keytest makes keys for tests: those that seal secrets, and those of a login that players have tokens from.
package keytest

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/token"
)

// KEK returns a key-encryption key that repeats one byte.
func KEK(b byte) []byte { return bytes.Repeat([]byte{b}, token.KEKBytes) }

// Sealer returns a sealer that seals with the [KEK] of the first byte, and opens with those of all.
func Sealer(t testing.TB, kekBytes ...byte) *token.Sealer {
	t.Helper()
	secrets := make([][]byte, len(kekBytes))
	for i, b := range kekBytes {
		secrets[i] = KEK(b)
	}
	sealer, err := token.NewSealer(secrets...)
	require.NoError(t, err)
	return sealer
}

// Login is an identity provider with one key, whose id is login.
type Login struct {
	Set    string           // the JWKS, as JSON
	Source *token.KeySource // the keys of the JWKS
	key    ed25519.PrivateKey
}

// NewLogin makes an identity provider.
func NewLogin(t testing.TB) Login {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	set := fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"login","x":%q}]}`, Base64(public))
	source, err := token.NewKeySource(set, token.SourceOptions{})
	require.NoError(t, err)
	return Login{set, source, private}
}

// Token signs an access token with the claims, which are not nil. The token expires in an hour unless the claims say
// when. Safe for concurrent use.
func (l Login) Token(claims map[string]any) string {
	if _, hasExpiry := claims["exp"]; !hasExpiry {
		claims = maps.Clone(claims)
		claims["exp"] = time.Now().Add(time.Hour).Unix()
	}
	payload, _ := json.Marshal(claims)
	signed := Base64([]byte(`{"alg":"EdDSA","kid":"login","typ":"JWT"}`)) + "." + Base64(payload)
	return signed + "." + Base64(ed25519.Sign(l.key, []byte(signed)))
}

// AccessToken signs an access token of a player.
func (l Login) AccessToken(sub string) string { return l.Token(map[string]any{"sub": sub}) }

// Base64 encodes as JSON Web Tokens do.
func Base64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
