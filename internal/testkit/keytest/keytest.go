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

// KEK is the key-encryption key that consists of one byte.
func KEK(b byte) []byte { return bytes.Repeat([]byte{b}, token.KEKBytes) }

// Sealer seals by the first of these key-encryption keys, each of which consists of one byte, and opens by all.
func Sealer(t testing.TB, keks ...byte) *token.Sealer {
	t.Helper()
	secrets := make([][]byte, len(keks))
	for i, b := range keks {
		secrets[i] = KEK(b)
	}
	sealer, err := token.NewSealer(secrets...)
	require.NoError(t, err)
	return sealer
}

// Login is an identity provider with one key, named login.
type Login struct {
	Set    string           // the JWKS
	Source *token.KeySource // of the JWKS
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

// Token signs an access token. It expires in an hour unless the claims say when. Safe for concurrent use.
func (l Login) Token(claims map[string]any) string {
	if _, set := claims["exp"]; !set {
		claims = maps.Clone(claims)
		claims["exp"] = time.Now().Add(time.Hour).Unix()
	}
	payload, _ := json.Marshal(claims)
	signed := Base64([]byte(`{"alg":"EdDSA","kid":"login","typ":"JWT"}`)) + "." + Base64(payload)
	return signed + "." + Base64(ed25519.Sign(l.key, []byte(signed)))
}

// AccessToken is Token of a player.
func (l Login) AccessToken(sub string) string { return l.Token(map[string]any{"sub": sub}) }

// Base64 encodes as JSON Web Tokens do.
func Base64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
