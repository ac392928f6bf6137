package bots_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/examples/arena/bots"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/token"
)

// keyPair makes a private JWK and the JWK set with its public half.
func keyPair(t *testing.T) (private, set string) {
	login := must.Get(devlogin.New())(t)
	return string(login.JWK()), login.JWKS()
}

// A director accepts the tokens: the test verifies them with the director's own code.
func TestIssuerMakesTokensTheDirectorTakes(t *testing.T) {
	t.Parallel()
	private, set := keyPair(t)
	file := filepath.Join(t.TempDir(), "issuer.json")
	require.NoError(t, os.WriteFile(file, []byte(private), 0o600))
	keys, err := token.NewKeySource(set, token.SourceOptions{})
	require.NoError(t, err)
	verifier, err := token.NewAccessVerifier(token.AccessConfig{Keys: keys, Issuer: "dev-login", Audience: "arena"})
	require.NoError(t, err)
	for _, spec := range []string{file, private} {
		issuer, err := bots.LoadIssuer(spec)
		require.NoError(t, err)
		issuer.Name, issuer.Audience = "dev-login", "arena"
		raw, err := issuer.AccessToken(t.Context(), "bot-001")
		require.NoError(t, err)
		claims, err := verifier.Verify(t.Context(), raw)
		require.NoError(t, err)
		require.Equal(t, "bot-001", claims.Subject)
	}
}

// LoadIssuer refuses a wrong key, and its errors do not contain a correct one.
func TestIssuerRefusesOtherKeys(t *testing.T) {
	t.Parallel()
	private, set := keyPair(t)
	other, _ := keyPair(t)
	_, secret, _ := strings.Cut(private, `"d":"`)
	for _, bad := range []string{
		"", "no-such-file", "{", `{"kty":"RSA"}`, set, strings.Replace(private, `"d":"`, `"d":"AA`, 1),
		strings.Split(private, `"x"`)[0] + other[strings.Index(other, `"x"`):strings.Index(other, `"d"`)] + `"d":"` + secret,
	} {
		_, err := bots.LoadIssuer(bad)
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), strings.TrimRight(secret, `"}`))
	}
}
