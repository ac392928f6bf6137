package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const edX = `"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"`

func TestParseKeySetIgnoresUnusableKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		`null`, `7`, `{}`, `{"kty":"new"}`, `{"kty":"oct","k":"AAAA"}`,
		`{"kty":"OKP","crv":"Ed25519","x":"AAAA"}`, // ed25519.Verify panics on it
		`{"kty":"OKP","crv":"Ed25519"}`, `{"kty":"OKP","crv":"Ed448","x":"AAAA"}`,
		`{"kty":"OKP","crv":"X25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`,
		`{` + edX + `,"use":"enc"}`, `{` + edX + `,"key_ops":["sign"]}`, `{` + edX + `,"alg":"HS256"}`, `{` + edX + `,"alg":"ES256"}`,
		`{` + edX + `,"d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}`, // a private key that was published
		`{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}`,                // not on the curve
		`{"kty":"EC","crv":"P-256"}`, `{"kty":"RSA","n":"","e":""}`, `{"kty":"RSA","n":"AQAB","e":"AQAB"}`,
	} {
		set, err := ParseKeySet([]byte(`{"keys":[` + key + `,{` + edX + `,"kid":"good"}]}`))
		require.NoError(t, err, key)
		require.Equal(t, 1, set.Len(), key)
		require.NotNil(t, set.byKID["good"], key)
	}
}

func TestParseKeySetBoundsKeySizes(t *testing.T) {
	t.Parallel()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	modulus := func(bits uint) *rsa.PublicKey {
		return &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), int(bits)-1, 1), E: 65537}
	}
	for _, weak := range []any{p384.Public(), modulus(2047), modulus(8193)} {
		set, err := ParseKeySet(jwksOf(t, jwkOf(t, weak, nil)))
		require.NoError(t, err)
		require.Zero(t, set.Len())
	}
	set, err := ParseKeySet(jwksOf(t, jwkOf(t, modulus(2048), nil), jwkOf(t, modulus(8192), nil)))
	require.NoError(t, err)
	require.Equal(t, 2, set.Len())
}

// With two keys under one kid, the result of a verification would depend on their order: neither is used, and others
// are.
func TestParseKeySetIgnoresAmbiguousKids(t *testing.T) {
	t.Parallel()
	other := strings.Replace(edX, `"11q`, `"12q`, 1)
	parse := func(a, b string) *KeySet {
		set, err := ParseKeySet(fmt.Appendf(nil, `{"keys":[{"kid":"k",%s},{"kid":"k",%s},{"kid":"good",%s}]}`, a, b, edX))
		require.NoError(t, err)
		return set
	}
	for _, second := range []string{other, other + `,"alg":"EdDSA"`} {
		set := parse(edX, second)
		require.Equal(t, 1, set.Len())
		require.NotNil(t, set.byKID["good"])
		require.Equal(t, []IgnoredKey{{"k", "another key of the set has the same kid"},
			{"k", "another key of the set has the same kid"}}, set.Ignored())
	}
	require.Equal(t, 2, parse(edX, edX).Len(), "the same key twice is one key")
	require.Equal(t, 3, parse(edX+`,"alg":"EdDSA"`, edX+`,"alg":"Ed25519"`).Len(), "one key under both names of its algorithm")
}

// Pins an ignored key that nobody is told of.
func TestParseKeySetSaysWhatItIgnores(t *testing.T) {
	t.Parallel()
	for key, why := range map[string]string{
		`null`: "cannot be read", `{"kty":"new","kid":"x"}`: "unknown type", `{"kty":"oct","k":"AAAA","kid":"x"}`: "no public key",
		`{` + edX + `,"use":"enc","kid":"x"}`:                                       "not for verifying signatures",
		`{` + edX + `,"alg":"HS256","kid":"x"}`:                                     "its algorithm is none of EdDSA, Ed25519, ES256, RS256",
		`{` + edX + `,"d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","kid":"x"}`: "no public key",
	} {
		set, err := ParseKeySet([]byte(`{"keys":[` + key + `]}`))
		require.NoError(t, err)
		require.Len(t, set.Ignored(), 1, key)
		require.Contains(t, set.Ignored()[0].Why, why, key)
		require.Equal(t, strings.Contains(key, `"kid":"x"`), set.Ignored()[0].KID == "x", key)
		require.NotContains(t, set.Ignored()[0].String(), "nWGxne")
	}
}

// Issuers of OpenID Connect sign with algorithms that tokens of players may not have.
func TestKeysOfLogins(t *testing.T) {
	t.Parallel()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	document := jwksOf(t, jwkOf(t, p384.Public(), map[string]any{"kid": "ec"}),
		jwkOf(t, key.Public(), map[string]any{"kid": "rsa"}))
	signed := []byte("header.payload")
	sums := map[crypto.Hash][]byte{}
	for _, h := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
		sum := h.New()
		_, _ = sum.Write(signed)
		sums[h] = sum.Sum(nil)
	}
	r, s, err := ecdsa.Sign(rand.Reader, p384, sums[crypto.SHA384])
	require.NoError(t, err)
	signatures := map[string][]byte{"ES384": append(r.FillBytes(make([]byte, 48)), s.FillBytes(make([]byte, 48))...)}
	for alg, h := range map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512} {
		signatures["RS"+alg], err = rsa.SignPKCS1v15(rand.Reader, key, h, sums[h])
		require.NoError(t, err)
		signatures["PS"+alg], err = rsa.SignPSS(rand.Reader, key, h, sums[h],
			&rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		require.NoError(t, err)
	}
	set, err := parseKeySet(document, LoginAlgs())
	require.NoError(t, err)
	for alg, signature := range signatures {
		kid := map[bool]string{true: "ec", false: "rsa"}[alg == "ES384"]
		found, err := set.find(header{algorithm: text{alg, true}, keyID: text{kid, true}})
		require.NoError(t, err, alg)
		require.True(t, found.verifySignature(alg, signed, signature), alg)
		require.False(t, found.verifySignature(alg, []byte("other"), signature), alg)
	}
	players, err := ParseKeySet(document)
	require.NoError(t, err)
	require.Equal(t, 1, players.Len())
	_, err = players.find(header{algorithm: text{"PS256", true}, keyID: text{"rsa", true}})
	require.ErrorIs(t, err, WrongAlg)
}

// One kid may name equivalent keys of several types (RFC 7517 section 4.5); alg selects one of them.
func TestKeysOfSeveralTypesMayShareAKid(t *testing.T) {
	t.Parallel()
	i := theIssuer()
	shared := map[string]any{"kid": "k"}
	set, err := ParseKeySet(jwksOf(t, jwkOf(t, i.ed.Public(), shared), jwkOf(t, i.ec.Public(), shared)))
	require.NoError(t, err)
	for alg, want := range map[string]error{AlgEdDSA: nil, AlgES256: nil, AlgRS256: WrongAlg} {
		_, err := set.find(header{algorithm: text{alg, true}, keyID: text{"k", true}})
		require.ErrorIs(t, err, want, alg)
	}
}

func TestParseKeySetRefusesOtherDocuments(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"", "null", "[]", "{}", `{"keys":null}`, `{"keys":{}}`, `{"keys":"x"}`, "<html>", `{` + edX + `}`} {
		_, err := ParseKeySet([]byte(document))
		require.Error(t, err, document)
	}
	set, err := ParseKeySet([]byte(`{"keys":[]}`))
	require.NoError(t, err, "what an empty set means is the source's to judge")
	require.Zero(t, set.Len())
}
