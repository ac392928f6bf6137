package token

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// fuzzKey is the same in every process, so that a stored corpus stays valid. Its public key has the kid "k".
var fuzzKey = ed25519.NewKeyFromSeed(secretOf(42))

const fuzzHeader = `{"alg":"EdDSA","kid":"k"}`

func fuzzSource(t require.TestingT) *KeySource {
	return fixed(Document{MaxAge: forever, JSON: jwksOf(t, jwkOf(t, fuzzKey.Public(), map[string]any{"kid": "k"}))})
}

// fuzzTokens checks a verifier with three kinds of token. It may accept a raw token only if that is the one that was
// signed here. If it accepts a fuzzed header and payload with a valid signature, its claims must be those that
// encoding/json reads. It must refuse the same with the signature of another key.
func fuzzTokens(f *testing.F, payload string,
	verify func(t *testing.T, raw string) (sub string, exp time.Time, err error)) {
	genuine := forge(fuzzKey, fuzzHeader, payload)
	mallory := ed25519.NewKeyFromSeed(secretOf(43))
	for _, header := range []string{fuzzHeader, `{"alg":"none"}`, `{"alg":"HS256","kid":"k"}`, `{"kid":"k","alg":"EdDSA","crit":["x"],"jwk":{}}`} {
		f.Add(header, payload, genuine)
		f.Add(header, payload, forge(mallory, header, payload))
	}
	f.Add(`{"alg":"EdDSA","\u006bid":"k","x":[{"y":"}"}]}`, `{"sub":"a\ud800","exp":1e10,"aud":["x",null]}`, "..")
	f.Fuzz(func(t *testing.T, header, payload, raw string) {
		if _, _, err := verify(t, raw); err == nil {
			require.Equal(t, genuine, raw)
		}
		_, _, err := verify(t, forge(mallory, header, payload))
		require.Error(t, err)
		sub, exp, err := verify(t, forge(fuzzKey, header, payload))
		if err != nil {
			return
		}
		var h, c map[string]any
		require.NoError(t, json.Unmarshal([]byte(header), &h))
		require.NoError(t, json.Unmarshal([]byte(payload), &c))
		require.Equal(t, "EdDSA", h["alg"])
		for _, name := range []string{"jwk", "jku", "x5c", "x5u", "crit", "b64"} {
			require.NotContains(t, h, name)
		}
		require.Equal(t, c["sub"], sub)
		require.True(t, ValidSubject(sub))
		require.Equal(t, int64(c["exp"].(float64)), exp.Unix())
		require.Greater(t, exp.Unix(), start.Unix()-30)
	})
}

func FuzzAccessToken(f *testing.F) {
	payload, err := json.Marshal(claimsOf("alice"))
	require.NoError(f, err)
	remembering := access(f, AccessConfig{Keys: fuzzSource(f)})
	forgetful := access(f, AccessConfig{Keys: fuzzSource(f), CacheSize: -1})
	fuzzTokens(f, string(payload), func(t *testing.T, raw string) (string, time.Time, error) {
		claims, err := forgetful.Verify(context.Background(), raw)
		for range 2 {
			again, err2 := remembering.Verify(context.Background(), raw)
			require.Equal(t, claims, again)
			require.Equal(t, err, err2)
		}
		return claims.Subject, claims.Expires, err
	})
}

func FuzzSessionToken(f *testing.F) {
	payload, err := someClaims().encodeJSON()
	require.NoError(f, err)
	verifier := NewSessionVerifier(fuzzSource(f), 0)
	fuzzTokens(f, string(payload), func(_ *testing.T, raw string) (string, time.Time, error) {
		claims, err := verifier.Verify(context.Background(), raw, start)
		return claims.Subject, claims.Expires, err
	})
}

// members has no bounds checks, because the text is valid JSON. It must not panic, and must find the members that
// encoding/json finds.
func FuzzReadObject(f *testing.F) {
	for _, object := range []string{`{}`, ` { "a" : [ {"b":"]\\"} , 1e5 ] , "\u0061":null}`, `{"a":"\"","b":-0.1,"c":true}`, `[]`, `7`, ``} {
		f.Add([]byte(object))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		got := map[string][]string{}
		err := readObject(object, func(name string) member {
			return collector(func(value string) { got[name] = append(got[name], value) })
		})
		var want map[string]json.RawMessage
		if failed := json.Unmarshal(object, &want); failed != nil || want == nil || !utf8.Valid(object) {
			require.ErrorIs(t, err, Malformed)
			return
		}
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for name, value := range want {
			require.Equal(t, string(value), got[name][len(got[name])-1])
		}
	})
}

type collector func(value string)

func (c collector) readValue(value string) bool {
	c(value)
	return true
}

// A broken or hostile key set of an identity provider must not crash the director: neither parsing it nor verifying
// with any of its keys panics.
func FuzzJWKS(f *testing.F) {
	f.Add(theIssuer().jwks(f), []byte("signature"))
	for _, key := range []string{edX, `"kty":"OKP","crv":"Ed25519","x":"AAAA"`, `"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"`, `"kty":"RSA","n":"AQAB","e":""`, `"kty":"oct","k":""`} {
		f.Add(fmt.Appendf(nil, `{"keys":[{%s,"kid":"k","alg":"EdDSA","use":"sig","key_ops":["verify"]},null,7]}`, key), make([]byte, 64))
	}
	f.Fuzz(func(t *testing.T, document, signature []byte) {
		set, err := parseKeySet(document, append(LoginAlgs(), AlgEd25519))
		if err != nil {
			require.Nil(t, set)
			return
		}
		for _, key := range set.publicKeys {
			for _, alg := range key.fittingAlgs {
				key.verifySignature(alg, []byte("signed"), signature)
				found, err := set.find(header{algorithm: text{alg, true}, keyID: text{key.keyID, true}})
				require.NoError(t, err)
				require.Same(t, key, found, "two keys with one kid and alg")
			}
		}
	})
}

// Only bytes that were sealed for a kid open as the key of that kid.
func FuzzSealOpen(f *testing.F) {
	sealer, genuine := sealedThen(f)
	f.Add(genuine.KID, genuine.Sealed)
	f.Add("", []byte{})
	f.Add(genuine.KID, genuine.Sealed[:sealHeader])
	f.Fuzz(func(t *testing.T, kid string, sealed []byte) {
		opened, err := sealer.Open(Material{KID: kid, Sealed: sealed})
		if err != nil {
			require.ErrorIs(t, err, ErrSealed)
			return
		}
		require.Equal(t, genuine.KID, kid)
		require.True(t, bytes.Equal(genuine.Sealed, sealed))
		require.Equal(t, fuzzKey, opened)
	})
}
