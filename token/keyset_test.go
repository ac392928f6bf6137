package token

import (
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

// With two keys under one kid, the result of a verification would depend on their order.
func TestParseKeySetRefusesAmbiguousKids(t *testing.T) {
	t.Parallel()
	other := strings.Replace(edX, `"11q`, `"12q`, 1)
	parse := func(a, b string) (*KeySet, error) {
		return ParseKeySet(fmt.Appendf(nil, `{"keys":[{"kid":"k",%s},{"kid":"k",%s}]}`, a, b))
	}
	_, err := parse(edX, other)
	require.ErrorContains(t, err, `"k"`)
	_, err = parse(edX, other+`,"alg":"EdDSA"`)
	require.Error(t, err)

	set, err := parse(edX, edX)
	require.NoError(t, err)
	require.Equal(t, 1, set.Len(), "the same key twice is one key")
	set, err = parse(edX+`,"alg":"EdDSA"`, edX+`,"alg":"Ed25519"`)
	require.NoError(t, err)
	require.Equal(t, 2, set.Len(), "one key under both names of its algorithm")
}

// One kid may name equivalent keys of several types (RFC 7517 section 4.5); alg selects one of them.
func TestKeysOfSeveralTypesMayShareAKid(t *testing.T) {
	t.Parallel()
	i := theIssuer()
	shared := map[string]any{"kid": "k"}
	set, err := ParseKeySet(jwksOf(t, jwkOf(t, i.ed.Public(), shared), jwkOf(t, i.ec.Public(), shared)))
	require.NoError(t, err)
	for alg, want := range map[string]error{AlgEdDSA: nil, AlgES256: nil, AlgRS256: WrongAlg} {
		_, err := set.find(header{alg: text{alg, true}, kid: text{"k", true}})
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
	require.NoError(t, err, "an issuer may withdraw all its keys")
	require.Zero(t, set.Len())
}
