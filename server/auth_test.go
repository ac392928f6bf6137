package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Player routes accept only access tokens with a valid signature, time, issuer and audience.
func TestAccessTokens(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.Access = token.AccessConfig{Issuer: "https://login.example", Audience: "game"} })
	now := time.Now()
	good := fields{"sub": "alice", "iss": "https://login.example", "aud": []string{"game", "shop"}, "nbf": now.Unix()}
	other := keytest.NewLogin(t)
	for name, row := range map[string]struct {
		header   string
		accepted bool
	}{
		"good":                 {"Bearer " + b.issuer.Token(good), true},
		"lower case scheme":    {"bearer " + b.issuer.Token(good), true},
		"expired within":       {"Bearer " + b.issuer.Token(good.with("exp", now.Add(-20*time.Second).Unix())), true},
		"expired":              {"Bearer " + b.issuer.Token(good.with("exp", now.Add(-time.Minute).Unix())), false},
		"no expiry":            {"Bearer " + b.issuer.Token(good.with("exp", nil)), false},
		"not yet":              {"Bearer " + b.issuer.Token(good.with("nbf", now.Add(time.Minute).Unix())), false},
		"no sub":               {"Bearer " + b.issuer.Token(good.with("sub", nil)), false},
		"empty sub":            {"Bearer " + b.issuer.Token(good.with("sub", "")), false},
		"sub with NUL":         {"Bearer " + b.issuer.Token(good.with("sub", "a\x00b")), false},
		"another issuer":       {"Bearer " + b.issuer.Token(good.with("iss", "https://evil.example")), false},
		"another audience":     {"Bearer " + b.issuer.Token(good.with("aud", "shop")), false},
		"somebody else's":      {"Bearer " + other.Token(good), false},
		"no signature":         {"Bearer " + strings.TrimRight(b.issuer.Token(good), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), false},
		"alg none":             {"Bearer " + keytest.Base64([]byte(`{"alg":"none"}`)) + "." + keytest.Base64([]byte(`{"sub":"alice","exp":9999999999}`)) + ".", false},
		"another scheme":       {"Basic YWxpY2U6c2VjcmV0", false},
		"nothing":              {"", false},
		"no token":             {"Bearer ", false},
		"far too long":         {"Bearer " + strings.Repeat("a", 20_000), false},
		"no token of any sort": {"Bearer \"quoted\" \\ ü", false},
	} {
		a := b.get("/sessions/none", header("Authorization", row.header))
		if row.accepted {
			a.problem(http.StatusNotFound, "session_unknown")
			continue
		}
		a.problem(http.StatusUnauthorized, "unauthorized")
		require.True(t, strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer "), name)
	}
	for _, r := range []*http.Request{b.request(http.MethodPost, "/matchmake", duel), b.request(http.MethodPost, "/resolve", "{}")} {
		b.call(r).problem(http.StatusUnauthorized, "unauthorized")
	}
}

// While the key set of the identity provider cannot be read, players get 503 and not 401.
func TestUnreadableKeySetIsUnavailable(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) {
		c.Access.Keys = token.NewKeySourceFunc(func(context.Context, string) (token.Document, error) {
			return token.Document{}, errors.New("https://user:hunter2@login.example is away")
		}, token.SourceOptions{})
	})
	a := b.matchmake("alice", duel)
	a.problem(http.StatusServiceUnavailable, "unavailable")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.NotContains(t, string(a.body), "hunter2")
	b.register("a") // Game servers are not affected.
}

// Each player has a rate limit, which does not affect other players.
func TestEachPlayerHasARate(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.CallerRate = rest.Rate{PerSecond: 0.001, Burst: 3} })
	b.register("a")
	for range 3 {
		b.matchmake("alice", duel).ok(http.StatusOK)
	}
	a := b.session("alice", "none")
	a.problem(http.StatusTooManyRequests, "rate_limited")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	b.matchmake("bob", duel).ok(http.StatusOK)
}

// Failed authentication is limited per address. Callers with valid tokens at the same address are not affected.
func TestFailedAuthenticationHasARate(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) {
		c.FailureRate, c.TrustedProxies = rest.Rate{PerSecond: 0.001, Burst: 2}, []string{"127.0.0.1"}
	})
	wrong := header("X-Fleet-Token", "a guess")
	b.fleet("heartbeat", "", wrong).problem(http.StatusUnauthorized, "unauthorized")
	b.get("/sessions/x", header("Authorization", "Bearer x")).problem(http.StatusUnauthorized, "unauthorized")
	b.fleet("heartbeat", "", wrong).problem(http.StatusTooManyRequests, "rate_limited")
	b.get("/sessions/x", header("Authorization", "Bearer x")).problem(http.StatusTooManyRequests, "rate_limited")
	b.fleet("heartbeat", "", wrong, header("X-Forwarded-For", "203.0.113.9")).problem(http.StatusUnauthorized, "unauthorized")

	b.register("a")
	b.matchmake("alice", duel).ok(http.StatusOK)
}

// Pages of listed origins may call the player routes; no page may call the fleet routes.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	const origin = "https://play.example"
	b := setup(t, func(c *config) { c.CORSOrigins = []string{"https://Play.example"} })
	b.register("a")
	const allow = "Access-Control-Allow-Origin"
	preflight := func(path, from string) answer {
		return b.call(b.request(http.MethodOptions, path, nil, header("Origin", from),
			header("Access-Control-Request-Method", "POST"), header("Access-Control-Request-Headers", "authorization,idempotency-key")))
	}
	require.Equal(t, origin, preflight("/matchmake", origin).header.Get(allow))
	require.Equal(t, origin, preflight("/sessions/x", origin).header.Get(allow))
	const evil = "https://evil.example"
	require.Empty(t, preflight("/matchmake", evil).header.Get(allow))
	// A page could not read the answer; a native client may send any Origin.
	unlisted := b.matchmake("alice", duel, header("Origin", evil))
	unlisted.ok(http.StatusOK)
	require.Empty(t, unlisted.header.Get(allow))
	require.Equal(t, origin, b.matchmake("alice", duel, header("Origin", origin)).header.Get(allow))

	require.Equal(t, http.StatusMethodNotAllowed, preflight("/fleet/register", origin).status)
	require.Empty(t, b.fleet("register", registration("b"), header("Origin", origin)).header.Get(allow))
	require.Empty(t, b.get("/readyz", header("Origin", origin)).header.Get(allow))

	open := setup(t, func(c *config) { c.CORSOrigins = []string{"*"} })
	require.Equal(t, "*", open.resolve("alice", "x", header("Origin", evil)).header.Get(allow))
	closed := setup(t)
	require.Empty(t, closed.matchmake("alice", duel, header("Origin", origin)).header.Get(allow))
}

// New refuses options without which a replica would be open, have guessable secrets, or not work.
func TestInvalidOptionsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := server.Options{Store: b.store.Store, Keys: b.keys, Access: token.AccessConfig{Keys: b.issuer.Source}, FleetTokens: []string{fleetToken}}
	for name, change := range map[string]func(*server.Options){
		"no fleet token":      func(o *server.Options) { o.FleetTokens = nil },
		"a short fleet token": func(o *server.Options) { o.FleetTokens = []string{fleetToken, "hunter2"} },
		"no store":            func(o *server.Options) { o.Store = nil },
		"no keys":             func(o *server.Options) { o.Keys = nil },
		"no players' keys":    func(o *server.Options) { o.Access.Keys = nil },
		"an impossible mode":  func(o *server.Options) { o.Modes = map[string]int{"duel": 1025} },
		"an empty mode":       func(o *server.Options) { o.Modes = map[string]int{"duel": 0} },
		"a proxy's name":      func(o *server.Options) { o.TrustedProxies = []string{"balancer"} },
		"a bare origin":       func(o *server.Options) { o.CORSOrigins = []string{"play.example"} },
		"no certificate":      func(o *server.Options) { o.TLSCert, o.TLSKey = "/nowhere/cert.pem", "/nowhere/key.pem" },
	} {
		o := good
		change(&o)
		_, err := server.New(o)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := server.New(good)
	require.NoError(t, err)
}
