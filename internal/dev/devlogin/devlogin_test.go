package devlogin_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/token"
)

// The director must accept the issuer's tokens, also after the issuer was written to a file and read again.
func TestTheDirectorAcceptsTheTokens(t *testing.T) {
	t.Parallel()
	made, err := devlogin.New()
	require.NoError(t, err)
	again, err := devlogin.Parse(made.JWK())
	require.NoError(t, err)
	require.Equal(t, made.JWKS(), again.JWKS())

	keys, err := token.NewKeySource(made.JWKS(), token.SourceOptions{})
	require.NoError(t, err)
	verifier, err := token.NewAccessVerifier(token.AccessConfig{Keys: keys, Issuer: "https://login", Audience: "game"})
	require.NoError(t, err)
	raw, expires, err := again.Mint(devlogin.Claims{Issuer: "https://login", Audience: "game", Subject: "alice"}, time.Minute)
	require.NoError(t, err)
	claims, err := verifier.Verify(t.Context(), raw)
	require.NoError(t, err)
	require.Equal(t, "alice", claims.Subject)
	require.WithinDuration(t, time.Now().Add(time.Minute), expires, 10*time.Second)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	i, err := devlogin.New()
	require.NoError(t, err)
	another, err := devlogin.New()
	require.NoError(t, err)
	var key, other map[string]string
	require.NoError(t, json.Unmarshal(i.JWK(), &key))
	require.NoError(t, json.Unmarshal(another.JWK(), &other))
	mixed := strings.Replace(string(i.JWK()), key["x"], other["x"], 1)
	for text, says := range map[string]string{
		mixed:               "does not belong",
		i.JWKS():            "no private Ed25519 key",
		"secret":            "no private Ed25519 key",
		`{"d":"secret"}`:    "no private Ed25519 key",
		string(i.JWK())[1:]: "no private Ed25519 key",
	} {
		_, err := devlogin.Parse([]byte(text))
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "secret")
	}
}
