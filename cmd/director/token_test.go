package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/token"
)

func verifierOf(t *testing.T, i devlogin.Issuer, name, audience string) *token.AccessVerifier {
	t.Helper()
	keys := must.Get(token.NewKeySource(i.JWKS(), token.SourceOptions{}))(t)
	return must.Get(token.NewAccessVerifier(token.AccessConfig{Keys: keys, Issuer: name, Audience: audience}))(t)
}

// Pins tokens that our own verifier refuses, or with other claims than requested.
func TestTokenMint(t *testing.T) {
	t.Parallel()
	data := dataDir(t.TempDir())
	i, err := data.ensureIssuer()
	require.NoError(t, err)

	raw := strings.TrimSpace(director.OK(t, env(), "token", "mint", "--sub", "alice", "--data", string(data)))
	claims, err := verifierOf(t, i, "", "").Verify(t.Context(), raw)
	require.NoError(t, err)
	require.Equal(t, "alice", claims.Subject)
	require.WithinDuration(t, time.Now().Add(time.Hour), claims.Expires, 10*time.Second)

	other := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(other, i.JWK(), 0o600))
	made := clitest.Read[tokenLine](t, director, env("DIRECTOR_AUTH_ISSUER=me", "DIRECTOR_AUTH_AUDIENCE=my-game"),
		"token", "mint", "--sub", "bob", "--ttl", "5m", "--issuer-key", other)
	claims, err = verifierOf(t, i, "me", "my-game").Verify(t.Context(), made.Token)
	require.NoError(t, err)
	require.Equal(t, "bob", claims.Subject)
	require.Equal(t, made.ExpiresAt, claims.Expires.UTC())
}

func TestTokenMintRefuses(t *testing.T) {
	t.Parallel()
	data := dataDir(t.TempDir())
	bad := data.pathOf("bad")
	require.NoError(t, os.WriteFile(bad, []byte(`{"kty":"OKP","crv":"Ed25519","kid":"a","x":"AAAA","d":"c2VjcmV0"}`), 0o600))
	for _, c := range []struct{ args, says string }{
		{"--data " + string(data), "--sub"},
		{"--sub alice --ttl 0s --data " + string(data), "--ttl"},
		{"--sub alice --data " + string(data), "'director dev' creates it"},
		{"--sub alice --issuer-key " + bad, "no private Ed25519 key"},
	} {
		r := director.Run(t, env(), "", append([]string{"token", "mint"}, strings.Fields(c.args)...)...)
		require.ErrorContains(t, r.Err, c.says)
		require.NotContains(t, r.Stderr, "c2VjcmV0")
	}
}

// Pins two `director dev` that start at once and use different keys.
func TestDataDirectoryKeepsTheFirst(t *testing.T) {
	t.Parallel()
	data := dataDir(t.TempDir())
	const n = 8
	var starts sync.WaitGroup
	kids, keks := make([]string, n), make([][][]byte, n)
	for k := range n {
		starts.Go(func() {
			i, err := data.ensureIssuer()
			if err == nil {
				kids[k] = i.JWKS()
				keks[k], _ = data.ensureKEKs()
			}
		})
	}
	starts.Wait()
	for k := range n {
		require.NotEmpty(t, kids[k])
		require.Equal(t, kids[0], kids[k])
		require.NotNil(t, keks[k])
		require.Equal(t, keks[0], keks[k])
	}
	files, err := os.ReadDir(string(data))
	require.NoError(t, err)
	require.Len(t, files, 2, "no drafts are left")
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), f.Name())
	}
}
