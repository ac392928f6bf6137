package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"sync"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// start is the initial time of virtual clocks. It is in the past, so that every token is expired for code that uses the
// real clock by mistake.
var start = time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: start} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

func newSealer(t require.TestingT) *Sealer {
	secret := make([]byte, KEKBytes)
	_, _ = rand.Read(secret)
	return must.Get(NewSealer(secret))(t)
}

// mint makes a key that signs and is published from a day before start to a day after it.
func mint(t require.TestingT, sealer *Sealer, alg string) Key {
	m := must.Get(sealer.Mint(alg))(t)
	from, until := start.Add(-24*time.Hour), start.Add(24*time.Hour)
	return Key{Material: m, PublishAt: from, SignFrom: from, SignUntil: until, VerifyUntil: until}
}

func newRing(t require.TestingT, sealer *Sealer, keys ...Key) *Ring {
	return must.Get(NewRing(keys, sealer, start, time.Minute))(t)
}

func someClaims() SessionClaims {
	return SessionClaims{
		Subject: "alice", SessionID: "eu-west.0190c0de-0000-7000-8000-000000000001", Handle: "eu-west.h4ndle",
		Endpoint: "203.0.113.7:7777", Region: "eu-west", ID: "0190c0de-0000-7000-8000-000000000002",
		IssuedAt: start, Expires: start.Add(2 * time.Minute), Mode: "duel", MaxPlayers: 8, Party: "0190c0de-0000-7000-8000-000000000003",
	}
}

// published makes a source of the key set that ring publishes at start.
func published(ring *Ring) *KeySource {
	document, etag := ring.JWKS(start)
	return fixed(Document{JSON: document, ETag: etag, MaxAge: forever})
}

func fixed(document Document) *KeySource {
	return NewKeySourceFunc(func(context.Context, string) (Document, error) { return document, nil },
		SourceOptions{Now: newClock().Now})
}

// issuer is an identity provider with one key of each kind.
type issuer struct {
	ed  ed25519.PrivateKey
	ec  *ecdsa.PrivateKey
	rsa *rsa.PrivateKey
}

// theIssuer is shared by all tests: making an RSA key takes much of a second under the race detector.
var theIssuer = sync.OnceValue(func() issuer {
	_, ed, _ := ed25519.GenerateKey(nil)
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	rs, _ := rsa.GenerateKey(rand.Reader, 2048)
	return issuer{ed: ed, ec: ec, rsa: rs}
})

// jwkOf returns the JWK of a key, with fields such as kid and alg.
func jwkOf(t require.TestingT, key any, fields map[string]any) jwk.Key {
	k := must.Get(jwk.FromRaw(key))(t)
	for name, value := range fields {
		require.NoError(t, k.Set(name, value))
	}
	return k
}

func jwksOf(t require.TestingT, keys ...jwk.Key) []byte {
	list := make([]json.RawMessage, 0, len(keys))
	for _, k := range keys {
		raw := must.Get(json.Marshal(k))(t)
		list = append(list, raw)
	}
	return must.Get(json.Marshal(map[string]any{"keys": list}))(t)
}

// jwks publishes the three keys as "ed", "ec" and "rsa".
func (i issuer) jwks(t require.TestingT) []byte {
	return jwksOf(t,
		jwkOf(t, i.ed.Public(), map[string]any{"kid": "ed", "alg": "EdDSA", "use": "sig"}),
		jwkOf(t, i.ec.Public(), map[string]any{"kid": "ec"}),
		jwkOf(t, i.rsa.Public(), map[string]any{"kid": "rsa", "alg": "RS256"}),
	)
}

func (i issuer) key(alg string) (any, string) {
	switch alg {
	case AlgES256:
		return i.ec, "ec"
	case AlgRS256:
		return i.rsa, "rsa"
	}
	return i.ed, "ed"
}

// sign makes a token with jwx, as an identity provider does.
func (i issuer) sign(t require.TestingT, alg string, claims map[string]any) string {
	key, kid := i.key(alg)
	payload := must.Get(json.Marshal(claims))(t)
	headers := jws.NewHeaders()
	require.NoError(t, headers.Set("kid", kid))
	signed := must.Get(jws.Sign(payload, jws.WithKey(jwa.SignatureAlgorithm(alg), key,
		jws.WithProtectedHeaders(headers))))(t)
	return string(signed)
}

// forge signs any texts as header and payload with an Ed25519 key.
func forge(key ed25519.PrivateKey, header, payload string) string {
	signed := b64.EncodeToString([]byte(header)) + "." + b64.EncodeToString([]byte(payload))
	return signed + "." + b64.EncodeToString(ed25519.Sign(key, []byte(signed)))
}

func access(t require.TestingT, cfg AccessConfig) *AccessVerifier {
	if cfg.Keys == nil {
		cfg.Keys = fixed(Document{JSON: theIssuer().jwks(t), MaxAge: forever})
	}
	if cfg.Now == nil {
		cfg.Now = newClock().Now
	}
	return must.Get(NewAccessVerifier(cfg))(t)
}

func claimsOf(sub string) map[string]any {
	return map[string]any{"sub": sub, "iss": "https://id.example", "aud": "game", "exp": start.Add(time.Hour).Unix()}
}
