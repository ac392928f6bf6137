package server_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/token"
)

// issuer is the title's identity provider.
type issuer struct {
	key    ed25519.PrivateKey
	source *token.KeySource
}

func newIssuer(t *testing.T) issuer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	set := fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"login","x":%q}]}`, b64(public))
	source, err := token.NewKeySource(set, token.SourceOptions{})
	require.NoError(t, err)
	return issuer{private, source}
}

// token makes an access token that expires in an hour, unless the claims hold exp.
func (i issuer) token(claims fields) string {
	if _, set := claims["exp"]; !set {
		claims = claims.with("exp", time.Now().Add(time.Hour).Unix())
	}
	payload, _ := json.Marshal(claims)
	signed := b64([]byte(`{"alg":"EdDSA","kid":"login","typ":"JWT"}`)) + "." + b64(payload)
	return signed + "." + b64(ed25519.Sign(i.key, []byte(signed)))
}

func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// claimsOf reads a token without verifying it.
func claimsOf(t *testing.T, raw string) (claims fields) {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(string(bytes.Split([]byte(raw), []byte("."))[1]))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(payload, &claims))
	return claims
}
