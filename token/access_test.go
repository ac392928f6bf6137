package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/must"
)

func TestAccessTakesTheAllowedAlgorithms(t *testing.T) {
	t.Parallel()
	v := access(t, AccessConfig{Issuer: "https://id.example", Audience: "game"})
	for _, alg := range []string{AlgEdDSA, AlgES256, AlgRS256} {
		rapid.Check(t, func(t *rapid.T) {
			sub := rapid.StringN(1, 60, 255).Filter(ValidSubject).Draw(t, "sub")
			got, err := v.Verify(context.Background(), theIssuer().sign(t, alg, claimsOf(sub)))
			require.NoError(t, err)
			require.Equal(t, AccessClaims{Subject: sub, Issuer: "https://id.example", Expires: start.Add(time.Hour)},
				got)
		})
	}
}

func TestAccessAllowListIsASetting(t *testing.T) {
	t.Parallel()
	v := access(t, AccessConfig{Algs: []string{AlgES256}})
	_, err := v.Verify(context.Background(), theIssuer().sign(t, AlgES256, claimsOf("a")))
	require.NoError(t, err)
	_, err = v.Verify(context.Background(), theIssuer().sign(t, AlgEdDSA, claimsOf("a")))
	require.ErrorIs(t, err, AlgNotAllowed)
	for _, alg := range []string{"none", "HS256", "PS256", ""} {
		_, err := NewAccessVerifier(AccessConfig{Keys: v.cfg.Keys, Algs: []string{alg}})
		require.Error(t, err, alg)
	}
	_, err = NewAccessVerifier(AccessConfig{})
	require.Error(t, err, "no keys")

	named := access(t, AccessConfig{
		Algs: []string{AlgEd25519},
		Keys: fixed(Document{MaxAge: forever,
			JSON: jwksOf(t, jwkOf(t, theIssuer().ed.Public(), map[string]any{"kid": "ed", "alg": AlgEd25519}))}),
	})
	payload, err := json.Marshal(claimsOf("a"))
	require.NoError(t, err)
	_, err = named.Verify(context.Background(), forge(theIssuer().ed, `{"alg":"Ed25519","kid":"ed"}`, string(payload)))
	require.NoError(t, err)
}

func TestAccessClaims(t *testing.T) {
	t.Parallel()
	v := access(t, AccessConfig{Issuer: "https://id.example", Audience: "game"})
	for _, c := range []struct {
		name  string
		value any // nil removes the claim
		want  Invalid
	}{
		{"exp", nil, MissingClaim}, {"sub", nil, MissingClaim},
		{"exp", start.Unix() - 29, ""}, {"exp", start.Unix() - 30, Expired}, {"exp", 0, Expired},
		{"nbf", start.Unix() + 30, ""}, {"nbf", start.Unix() + 31, NotYetValid},
		{"iat", start.Unix() + 30, ""}, {"iat", start.Unix() + 31, NotYetValid},
		{"iss", nil, WrongIssuer}, {"iss", "https://id.example/", WrongIssuer},
		{"iss", []string{"https://id.example"}, BadClaim},
		{"aud", nil, WrongAudience}, {"aud", []string{"x", "game"}, ""}, {"aud", []string{}, WrongAudience},
		{"aud", []any{"game", 1}, BadClaim},
		{"exp", "1582977720", BadClaim}, {"exp", []int{1}, BadClaim}, {"nbf", "0", BadClaim}, {"iat", true, BadClaim},
		{"exp", float64(start.Unix()) + 0.5, ""}, {"exp", -1, BadClaim}, {"exp", 1e18, BadClaim},
		{"sub", 42, BadClaim}, {"sub", "a\x00", BadClaim}, {"sub", "", BadClaim},
		{"sid", map[string]any{"any": 1}, ""}, {"region", 7, ""},
	} {
		claims := claimsOf("alice")
		if claims[c.name] = c.value; c.value == nil {
			delete(claims, c.name)
		}
		_, err := v.Verify(context.Background(), theIssuer().sign(t, AlgEdDSA, claims))
		if c.want == "" {
			require.NoError(t, err, c)
		} else {
			require.ErrorIs(t, err, c.want, c)
		}
	}
}

// iss and aud are compared only if they are configured, but a wrong type is always refused.
func TestAccessWithoutIssuerAndAudience(t *testing.T) {
	t.Parallel()
	v := access(t, AccessConfig{})
	claims := map[string]any{"sub": "alice", "exp": start.Unix() + 1}
	_, err := v.Verify(context.Background(), theIssuer().sign(t, AlgEdDSA, claims))
	require.NoError(t, err)
	claims["iss"] = 7
	_, err = v.Verify(context.Background(), theIssuer().sign(t, AlgEdDSA, claims))
	require.ErrorIs(t, err, BadClaim)
}

// Without a kid a token is accepted only if exactly one key of the set fits its algorithm.
func TestAccessWithoutKid(t *testing.T) {
	t.Parallel()
	i := theIssuer()
	payload, err := json.Marshal(claimsOf("alice"))
	require.NoError(t, err)
	raw := forge(i.ed, `{"alg":"EdDSA"}`, string(payload))
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ed := jwkOf(t, i.ed.Public(), map[string]any{"kid": "ed"})
	bare := jwkOf(t, i.ed.Public(), nil)
	for name, c := range map[string]struct {
		document []byte
		want     error
	}{
		"one of each kind":        {i.jwks(t), nil},
		"one that has no kid":     {jwksOf(t, bare, jwkOf(t, other.Public(), nil)), nil},
		"the same key twice":      {jwksOf(t, bare, bare), nil},
		"one key under two kids":  {jwksOf(t, ed, bare), UnknownKey},
		"none that fits":          {jwksOf(t, jwkOf(t, other.Public(), nil)), UnknownKey},
		"two that fit":            {jwksOf(t, ed, jwkOf(t, mintPublic(t), nil)), UnknownKey},
		"two, one of another alg": {jwksOf(t, ed, jwkOf(t, mintPublic(t), map[string]any{"alg": AlgEd25519})), nil},
		"two, one for encrypting": {jwksOf(t, ed, jwkOf(t, mintPublic(t), map[string]any{"use": "enc"})), nil},
		"an empty set":            {[]byte(`{"keys":[]}`), ErrKeysUnavailable},
	} {
		v := access(t, AccessConfig{Keys: fixed(Document{JSON: c.document, MaxAge: forever})})
		_, err := v.Verify(context.Background(), raw)
		require.ErrorIs(t, err, c.want, name)
	}
}

func mintPublic(t *testing.T) any {
	t.Helper()
	sealer := newSealer(t)
	private := must.Get(sealer.Open(mint(t, sealer, AlgEdDSA).Material))(t)
	return private.Public()
}

// A cached token expires at the same second as an uncached one, also after the clock was set back.
func TestCachedTokenExpires(t *testing.T) {
	t.Parallel()
	now := newClock()
	v := access(t, AccessConfig{Now: now.Now, Skew: -1})
	claims := claimsOf("alice")
	claims["nbf"] = start.Unix()
	raw := theIssuer().sign(t, AlgEdDSA, claims)
	for _, at := range []struct {
		offset time.Duration
		want   error
	}{{0, nil}, {time.Hour - 1, nil}, {time.Hour, Expired}, {0, nil}, {-1, NotYetValid}} {
		now.Set(start.Add(at.offset))
		claims, err := v.Verify(context.Background(), raw)
		require.ErrorIs(t, err, at.want, at.offset)
		require.Equal(t, err != nil, claims == AccessClaims{}, "claims come without an error only")
	}
}

// When a key leaves the set, the tokens that it signed are refused, cached ones too.
func TestCachedTokenIsInvalidWithoutItsKey(t *testing.T) {
	t.Parallel()
	now := newClock()
	document := Document{JSON: theIssuer().jwks(t), MaxAge: time.Minute}
	keys := NewKeySourceFunc(func(context.Context, string) (Document, error) { return document, nil },
		SourceOptions{Now: now.Now})
	v := access(t, AccessConfig{Keys: keys, Now: now.Now})
	raw := theIssuer().sign(t, AlgEdDSA, claimsOf("alice"))
	for range 2 {
		_, err := v.Verify(context.Background(), raw)
		require.NoError(t, err)
	}
	now.Add(time.Minute)
	document.JSON = jwksOf(t, jwkOf(t, theIssuer().ec.Public(), map[string]any{"kid": "ec"}))
	_, err := v.Verify(context.Background(), raw)
	require.ErrorIs(t, err, UnknownKey)
}

// The cache is bounded, holds no refused tokens, and never returns the claims of another token.
func TestAccessCache(t *testing.T) {
	t.Parallel()
	v := access(t, AccessConfig{CacheSize: 2})
	for n := range 3 {
		for i := range 20 {
			sub := string(rune('a' + i))
			got, err := v.Verify(context.Background(), theIssuer().sign(t, AlgEdDSA, claimsOf(sub)))
			require.NoError(t, err, n)
			require.Equal(t, sub, got.Subject)
		}
	}
	require.Len(t, v.entryCache.slots, 2)

	fresh := access(t, AccessConfig{})
	bad := forge(theIssuer().ed, `{"alg":"EdDSA","kid":"ec"}`, "{}")
	for range 2 {
		_, err := fresh.Verify(context.Background(), bad)
		require.ErrorIs(t, err, WrongAlg)
	}
	keys, err := fresh.cfg.Keys.Keys(context.Background())
	require.NoError(t, err)
	require.Nil(t, fresh.entryCache.getEntry(sha256.Sum256([]byte(bad)), keys))
	good := theIssuer().sign(t, AlgEdDSA, claimsOf("alice"))
	_, err = fresh.Verify(context.Background(), good)
	require.NoError(t, err)
	require.NotNil(t, fresh.entryCache.getEntry(sha256.Sum256([]byte(good)), keys))

	none := access(t, AccessConfig{CacheSize: -1})
	_, err = none.Verify(context.Background(), good)
	require.NoError(t, err)
}

// An unreadable key set must not look like an invalid token, which would log every player out.
func TestAccessWithoutKeysIsUnavailable(t *testing.T) {
	t.Parallel()
	v := access(t, AccessConfig{Keys: fixed(Document{JSON: []byte(`{"error":"maintenance"}`)})})
	_, err := v.Verify(context.Background(), theIssuer().sign(t, AlgEdDSA, claimsOf("alice")))
	require.ErrorIs(t, err, ErrKeysUnavailable)
	var reason Invalid
	require.NotErrorAs(t, err, &reason)
}
