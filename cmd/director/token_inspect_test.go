package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/token"
)

// Pins a refused token without a reason, and a token in the output.
func TestTokenInspect(t *testing.T) {
	t.Parallel()
	url, issuer := dbtest.New(t), login(t)
	environ := env("DATABASE_URL="+url, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK)
	s := storetest.OnDatabase(t, url)
	api := start(t, serving(url, issuer.JWKS(), "DIRECTOR_WORK=true"), "serve").api()
	s.AddServer("eu-1", 8)
	require.Eventually(t, func() bool { status, _ := clitest.Get(t, api+"/readyz"); return status == http.StatusOK }, deadline, tick)
	_, body := clitest.Post(t, api+"/matchmake", bearer(t, issuer, "anna"), object{"region": "eu", "mode": "duel"})
	status, body := clitest.Post(t, api+"/resolve", bearer(t, issuer, "anna"), object{"session_handle": clitest.Field(t, body, "session_handle")})
	require.Equal(t, http.StatusOK, status, body)
	raw := clitest.Field(t, body, "session_token")

	inspect := func(token string, args ...string) (i inspectedToken, r clitest.Result) {
		r = director.Run(t, environ, token+"\n", append([]string{"token", "inspect", "-", "-o", "json"}, args...)...)
		require.NoError(t, json.Unmarshal([]byte(r.Stdout), &i), r.Stderr)
		for part := range strings.SplitSeq(raw, ".") {
			require.NotContains(t, r.Stdout+r.Stderr, part)
		}
		return i, r
	}
	i, r := inspect(raw)
	require.NoError(t, r.Err)
	require.True(t, i.Valid)
	require.Equal(t, "signing", i.Key)
	require.Equal(t, "anna", i.Claims["sub"])
	require.LessOrEqual(t, len(i.Claims["hdl"].(string)), 15)
	i, r = inspect(raw, "--jwks", api+"/.well-known/jwks.json")
	require.NoError(t, r.Err)
	require.True(t, i.Valid)
	text := director.OK(t, environ, "token", "inspect", raw)
	require.Regexp(t, `(?s)^valid: valid for .*sub +anna\n`, text)
	require.NotContains(t, text, clitest.Field(t, body, "session_token"))

	refused := func(token, reason, says string, args ...string) {
		t.Helper()
		i, r := inspect(token, args...)
		require.Equal(t, 1, cli.ExitCode(r.Err))
		require.Equal(t, reason, i.Reason)
		require.Contains(t, i.Says, says)
		require.ErrorContains(t, r.Err, says)
	}
	refused("nonsense", "malformed", "this is no token")
	refused(raw[:len(raw)-4]+"AAAA", "bad_signature", "changed or truncated")
	refused(strings.TrimPrefix(bearer(t, issuer, "anna"), "Authorization: Bearer "), "unknown_key", "Is it a player's access token?")
	other := filepath.Join(t.TempDir(), "jwks.json")
	require.NoError(t, os.WriteFile(other, []byte(issuer.JWKS()), 0o600))
	refused(raw, "unknown_key", "another director signed it", "--jwks", other)
	director.OK(t, environ, "keys", "taint", "--", i.Header["kid"].(string))
	refused(raw, "unknown_key", "its key was tainted")
}

// Pins times with a wrong sign, or compared with the wrong clock.
func TestTokenInspectTimes(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	b64 := base64.RawURLEncoding.EncodeToString
	jwks := fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","kid":"k","x":%q}]}`, b64(public))
	signed := func(from, until time.Duration) string {
		claims := fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":"a","sid":"eu.x","hdl":"eu.short","ep":"e:1","region":"eu","jti":"j","iat":%d,"exp":%d}`,
			token.Issuer, token.Audience, time.Now().Add(from).Unix(), time.Now().Add(until).Unix())
		text := b64([]byte(`{"alg":"EdDSA","kid":"k"}`)) + "." + b64([]byte(claims))
		return text + "." + b64(ed25519.Sign(private, []byte(text)))
	}
	for says, raw := range map[string]string{
		"it expired 1h": signed(-2*time.Hour, -time.Hour), `it becomes valid in (1h|59m\d+s)`: signed(time.Hour, 2*time.Hour), "": signed(-time.Minute, time.Minute),
	} {
		r := director.Run(t, env(), "", "token", "inspect", raw, "--jwks", jwks)
		if says == "" {
			require.NoError(t, r.Err)
			continue
		}
		require.Equal(t, 1, cli.ExitCode(r.Err))
		require.Regexp(t, "NOT VALID: "+says, r.Stdout)
	}
}
