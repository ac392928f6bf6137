package console

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/lestrrat-go/jwx/v2/jwt"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// issuer is a small issuer of OpenID Connect with one client and one person.
type issuer struct {
	t      *testing.T
	server *httptest.Server
	key    jwk.Key
	junk   []any // what it publishes besides its key

	claims    map[string]any // of the person, besides sub
	challenge string         // of PKCE
	nonce     string
	change    func(*jwt.Builder) // makes the token a false one
	sign      jwk.Key            // with another key
}

const (
	clientID     = "console"
	clientSecret = "the secret of the client"
	code         = "one-time-code"
)

func newKey(t *testing.T) jwk.Key {
	t.Helper()
	raw := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	key := must.Get(jwk.FromRaw(raw))(t)
	require.NoError(t, key.Set(jwk.KeyIDKey, "k"))
	require.NoError(t, key.Set(jwk.AlgorithmKey, jwa.ES256))
	return key
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, key: newKey(t), claims: map[string]any{}}
	i.sign = i.key
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.server.URL, "authorization_endpoint": i.server.URL + "/authorize", "token_endpoint": i.server.URL + "/token",
			"jwks_uri": i.server.URL + "/jwks", "id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		public, _ := i.key.PublicKey()
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": append(slices.Clone(i.junk), public)})
	})
	mux.HandleFunc("POST /token", i.token)
	i.server = httptest.NewServer(mux)
	t.Cleanup(i.server.Close)
	return i
}

// authorize is what the issuer does when a browser comes: it remembers the challenge and the nonce, and returns the
// state.
func (i *issuer) authorize(location string) (state string) {
	i.t.Helper()
	u := must.Get(url.Parse(location))(i.t)
	q := u.Query()
	require.Equal(i.t, i.server.URL+"/authorize", u.Scheme+"://"+u.Host+u.Path)
	require.Equal(i.t, []string{clientID, "code", "S256", "openid email profile"},
		[]string{q.Get("client_id"), q.Get("response_type"), q.Get("code_challenge_method"), q.Get("scope")})
	i.challenge, i.nonce = q.Get("code_challenge"), q.Get("nonce")
	require.NotEmpty(i.t, i.nonce)
	return q.Get("state")
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	secret, _ = url.QueryUnescape(secret)
	hash := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	w.Header().Set("Content-Type", "application/json")
	if id != clientID || secret != clientSecret || r.FormValue("code") != code || base64.RawURLEncoding.EncodeToString(hash[:]) != i.challenge {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error": "invalid_grant"}`))
		return
	}
	b := jwt.NewBuilder().Issuer(i.server.URL).Audience([]string{clientID}).Subject("u-17").IssuedAt(time.Now()).Expiration(time.Now().Add(time.Minute)).Claim("nonce", i.nonce)
	for name, value := range i.claims {
		b = b.Claim(name, value)
	}
	if i.change != nil {
		i.change(b)
	}
	made, _ := b.Build()
	signed, _ := jwt.Sign(made, jwt.WithKey(jwa.ES256, i.sign)) // an empty one is refused
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": string(signed)})
}

func setupOIDC(t *testing.T, change ...func(*OIDC)) (*bundle, *issuer) {
	t.Helper()
	i := newIssuer(t)
	return setup(t, func(o *Options) {
		o.URL = "http://console.example"
		o.OIDC = &OIDC{Issuer: i.server.URL, ClientID: clientID, ClientSecret: clientSecret, Operators: []string{"ops"}, Viewers: []string{"staff"}}
		for _, c := range change {
			c(o.OIDC)
		}
	}), i
}

// enter logs in, and returns the answer to the return from the issuer.
func (i *issuer) enter(w *browser) webtest.Answer {
	w.t.Helper()
	state := i.authorize(w.get("/login/oidc?next=/keys").Header.Get("Location"))
	return w.get("/login/callback?" + url.Values{"state": {state}, "code": {code}}.Encode())
}

// Pins a login that gives a person another name or role than the issuer says.
func TestOIDCRoles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claims    map[string]any
		claim     string
		viewers   []string
		operators []string
		who       string // empty: refused
	}{
		{claims: map[string]any{"groups": []string{"x", "ops"}, "email": "ada@example.com"}, who: "ada@example.com, operator"},
		{claims: map[string]any{"groups": []string{"ops"}, "email": "ada@example.com", "email_verified": false}, who: "u-17, operator"},
		{claims: map[string]any{"groups": []string{"ops"}, "email": "ada@example.com", "email_verified": "false"}, who: "u-17, operator"},
		{claims: map[string]any{"groups": "staff"}, who: "u-17, viewer"},
		{claims: map[string]any{"groups": []string{"ops", "staff"}}, who: "u-17, operator"},
		{claims: map[string]any{"groups": []string{"guests"}}},
		{claims: map[string]any{}},
		{claims: map[string]any{"groups": map[string]any{"ops": true}}},
		{claims: map[string]any{}, viewers: []string{"*"}, who: "u-17, viewer"},
		{claims: map[string]any{"realm_access": map[string]any{"roles": []string{"ops"}}}, claim: "realm_access.roles", who: "u-17, operator"},
		{claims: map[string]any{"https://example.com/roles": []string{"ops"}}, claim: "https://example.com/roles", who: "u-17, operator"},
	} {
		b, i := setupOIDC(t, func(o *OIDC) {
			o.RoleClaim = c.claim
			if c.viewers != nil {
				o.Viewers = c.viewers
			}
		})
		i.claims = c.claims
		w := b.browser()
		got := i.enter(w)
		if c.who == "" {
			require.Equal(t, http.StatusUnauthorized, got.Status, c.claims)
			require.Contains(t, got.Body, "nothing there makes you an operator or a viewer")
			require.Equal(t, http.StatusSeeOther, w.get("/fleet").Status)
			continue
		}
		require.Equal(t, http.StatusSeeOther, got.Status, got.Body)
		require.Equal(t, "/keys", got.Header.Get("Location"))
		require.Contains(t, w.get("/fleet").Body, c.who, c.claims)
	}
}

// Pins a login that is accepted although another one began it, or the token is false, old, or of another key, client or
// issuer.
func TestOIDCRefuses(t *testing.T) {
	t.Parallel()
	b, i := setupOIDC(t)
	i.claims["groups"] = "ops"
	refused := func(name string, got webtest.Answer) {
		require.GreaterOrEqual(t, got.Status, 400, name)
		require.NotContains(t, strings.Join(got.Header.Values("Set-Cookie"), " "), "director-session", name)
	}
	w := b.browser()
	refused("no attempt", w.get("/login/callback?state=x&code="+code))
	state := i.authorize(w.get("/login/oidc").Header.Get("Location"))
	refused("another state", w.get("/login/callback?state=x&code="+code))
	refused("the attempt is used up", w.get("/login/callback?state="+state+"&code="+code))
	state = i.authorize(w.get("/login/oidc").Header.Get("Location"))
	refused("another browser", b.browser().get("/login/callback?state="+state+"&code="+code))
	refused("a wrong code", w.get("/login/callback?state="+state+"&code=x"))
	state = i.authorize(w.get("/login/oidc").Header.Get("Location"))
	got := w.get("/login/callback?error=access_denied&error_description=" + url.QueryEscape(hostile) + "&state=" + state)
	refused("the issuer refuses", got)
	require.NotContains(t, got.Body, "<script>alert")

	for name, change := range map[string]func(*jwt.Builder){
		"audience": func(b *jwt.Builder) { b.Audience([]string{"another"}) },
		"issuer":   func(b *jwt.Builder) { b.Issuer("https://evil.example") },
		"expired":  func(b *jwt.Builder) { b.Expiration(time.Now().Add(-time.Hour)) },
		"nonce":    func(b *jwt.Builder) { b.Claim("nonce", "another") },
	} {
		i.change = change
		refused(name, i.enter(b.browser()))
	}
	i.change, i.sign = nil, newKey(t)
	refused("signed by another key", i.enter(b.browser()))
	i.sign = i.key
	require.Equal(t, http.StatusSeeOther, i.enter(b.browser()).Status)
}

// Pins a login that stops for all because the issuer publishes one key that is malformed, or of a type that is not
// known.
func TestOIDCSkipsUnusableKeys(t *testing.T) {
	t.Parallel()
	b, i := setupOIDC(t)
	i.claims["groups"] = "ops"
	i.junk = []any{7, map[string]any{"kty": "future", "kid": "new"}, map[string]any{"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA", "kid": "bad"}}
	require.Equal(t, http.StatusSeeOther, i.enter(b.browser()).Status)
	status := b.console.LoginKeys()()
	require.Equal(t, []int{1, 3}, []int{status.Usable, len(status.Ignored)})
	require.NoError(t, status.Err)
}

// Pins a console that does not start, or does not let tokens in, while the issuer is down, and one that never asks it
// again.
func TestOIDCIssuerIsDown(t *testing.T) {
	t.Parallel()
	b, i := setupOIDC(t)
	i.claims["groups"] = "ops"
	handler := i.server.Config.Handler
	i.server.Config.Handler = http.NotFoundHandler()
	got := b.browser().get("/login/oidc")
	require.Equal(t, http.StatusBadGateway, got.Status)
	require.Contains(t, got.Body, "A token of an operator still logs in.")
	require.Equal(t, http.StatusOK, b.as(adaToken).get("/fleet").Status)
	i.server.Config.Handler = handler
	require.Equal(t, http.StatusSeeOther, i.enter(b.browser()).Status)
}
