package token

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// target is a verifier under attack, with the key that it trusts and a payload that it accepts under this key.
type target struct {
	name    string
	kid     string
	key     ed25519.PrivateKey // the key that kid names
	payload string
	verify  func(raw string) error
}

func targets(t *testing.T) []target {
	t.Helper()
	s := setup(t, AlgEdDSA)
	claims := must.Get(someClaims().encodeJSON())(t)
	accessVerifier := access(t, AccessConfig{})
	player := must.Get(json.Marshal(claimsOf("alice")))(t)
	return []target{
		{"session", s.kid, s.private, string(claims), func(raw string) error {
			_, err := s.Verify(context.Background(), raw, start)
			return err
		}},
		{"access", "ed", theIssuer().ed, string(player), func(raw string) error {
			_, err := accessVerifier.Verify(context.Background(), raw)
			return err
		}},
	}
}

func attack(t *testing.T, f func(t *testing.T, on target)) {
	t.Helper()
	for _, on := range targets(t) {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			f(t, on)
		})
	}
}

func (on target) header(more string) string {
	return fmt.Sprintf(`{"alg":"EdDSA","kid":%q%s}`, on.kid, more)
}

// Unsigned tokens, in every spelling of "none" that parsers have accepted.
func TestAttackAlgNone(t *testing.T) {
	t.Parallel()
	attack(t, func(t *testing.T, on target) {
		for _, alg := range []string{"none", "None", "NONE", "nOnE", "", " none", "eddsa", "EDDSA"} {
			raw := forge(on.key, fmt.Sprintf(`{"alg":%q,"kid":%q}`, alg, on.kid), on.payload)
			require.ErrorIs(t, on.verify(raw), AlgNotAllowed, alg)
			require.ErrorIs(t, on.verify(raw[:strings.LastIndexByte(raw, '.')+1]), AlgNotAllowed, alg)
		}
		unsigned := forge(on.key, on.header(""), on.payload)
		require.ErrorIs(t, on.verify(unsigned[:strings.LastIndexByte(unsigned, '.')+1]), BadSignature)
	})
}

// An HMAC whose secret is the public key, which everybody knows: as raw bytes, base64url, DER, PEM and JWK.
func TestAttackHMACWithPublicKey(t *testing.T) {
	t.Parallel()
	attack(t, func(t *testing.T, on target) {
		public := on.key.Public().(ed25519.PublicKey)
		der, err := x509.MarshalPKIXPublicKey(public)
		require.NoError(t, err)
		asJWK, err := publicJWK(on.key, on.kid, AlgEdDSA)
		require.NoError(t, err)
		secrets := [][]byte{public, []byte(b64.EncodeToString(public)), der,
			pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), asJWK, nil}
		for _, secret := range secrets {
			for _, alg := range []string{"HS256", "EdDSA"} {
				signed := b64.EncodeToString(fmt.Appendf(nil, `{"alg":%q,"kid":%q}`, alg, on.kid)) + "." + b64.EncodeToString([]byte(on.payload))
				mac := hmac.New(sha256.New, secret)
				mac.Write([]byte(signed))
				want := map[string]Invalid{"HS256": AlgNotAllowed, "EdDSA": BadSignature}[alg]
				require.ErrorIs(t, on.verify(signed+"."+b64.EncodeToString(mac.Sum(nil))), want)
			}
		}
	})
}

// A symmetric key in the set is never used.
func TestAttackSymmetricKeyInTheSet(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef0123456789abcdef")
	for _, alg := range []string{"HS256", "EdDSA", "RS256", ""} {
		fields := map[string]any{"kid": "oct"}
		if alg != "" {
			fields["alg"] = alg
		}
		set, err := ParseKeySet(jwksOf(t, jwkOf(t, secret, fields)))
		require.NoError(t, err)
		require.Zero(t, set.Len(), alg)
	}
}

// A token that carries a key is refused even if its signature is valid.
func TestAttackEmbeddedKeys(t *testing.T) {
	t.Parallel()
	_, mallory, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	attack(t, func(t *testing.T, on target) {
		embedded, err := publicJWK(mallory, on.kid, AlgEdDSA)
		require.NoError(t, err)
		for _, more := range []string{
			`,"jwk":` + string(embedded), `,"jku":"https://evil.example/jwks.json"`, `,"x5u":"https://evil.example/cert.pem"`,
			`,"x5c":["MIIB"]`, `,"jwk":null`, `,"\u006awk":{}`,
		} {
			require.ErrorIs(t, on.verify(forge(mallory, on.header(more), on.payload)), BadHeader, more)
			require.ErrorIs(t, on.verify(forge(on.key, on.header(more), on.payload)), BadHeader, more)
		}
		require.NoError(t, on.verify(forge(on.key, on.header(`,"typ":"at+jwt","x5t":"abc","x5t#S256":"abc"`), on.payload)))
		require.ErrorIs(t, on.verify(forge(mallory, on.header(""), on.payload)), BadSignature)
	})
}

// crit lists extensions that a verifier must support (RFC 7515 section 4.1.11), and this one supports none. b64 (RFC
// 7797) changes the bytes that are signed.
func TestAttackCriticalExtensions(t *testing.T) {
	t.Parallel()
	attack(t, func(t *testing.T, on target) {
		for _, more := range []string{`,"crit":["exp"],"exp":1`, `,"crit":[]`, `,"crit":["b64"],"b64":false`, `,"b64":false`, `,"b64":true`} {
			require.ErrorIs(t, on.verify(forge(on.key, on.header(more), on.payload)), BadHeader, more)
		}
	})
}

func TestAttackHeaders(t *testing.T) {
	t.Parallel()
	attack(t, func(t *testing.T, on target) {
		kid := fmt.Sprintf(`"kid":%q`, on.kid)
		for header, want := range map[string]Invalid{
			`{` + kid + `}`:                                   BadHeader,
			`{"alg":null,` + kid + `}`:                        BadHeader,
			`{"alg":["EdDSA"],` + kid + `}`:                   BadHeader,
			`{"alg":"none","alg":"EdDSA",` + kid + `}`:        BadHeader,
			`{"alg":"EdDSA","alg":"none",` + kid + `}`:        BadHeader,
			`{"alg":"EdDSA","kid":"other",` + kid + `}`:       BadHeader,
			`{"alg":"EdDSA","kid":7}`:                         BadHeader,
			`{"alg":"EdDSA","kid":""}`:                        BadHeader,
			`{"ALG":"EdDSA",` + kid + `}`:                     BadHeader,
			`{"alg":"EdDSA","kid":"../../etc/passwd"}`:        UnknownKey,
			`{"alg":"EdDSA","kid":"' OR 1=1 --"}`:             UnknownKey,
			`{"alg":"EdDSA",` + kid[:len(kid)-1] + `\u0000"}`: UnknownKey,
			`{"alg":"Ed25519",` + kid + `}`:                   map[string]Invalid{"session": WrongAlg, "access": AlgNotAllowed}[on.name],
			`["EdDSA"]`:                                       Malformed,
			`"EdDSA"`:                                         Malformed,
			``:                                                Malformed,
			`{"alg":"EdDSA",` + kid:                           Malformed,
		} {
			require.ErrorIs(t, on.verify(forge(on.key, header, on.payload)), want, header)
		}
	})
}

// Without a kid a session token is refused: the director always writes one.
func TestAttackNoKid(t *testing.T) {
	t.Parallel()
	on := targets(t)[0]
	require.ErrorIs(t, on.verify(forge(on.key, `{"alg":"EdDSA"}`, on.payload)), UnknownKey)
}

// Everything but a compact JWS of three parts in strict base64url is refused: JSON serialization with one or several
// signatures, JWE, white space, padding, the standard alphabet, non-zero padding bits.
func TestAttackSerializations(t *testing.T) {
	t.Parallel()
	attack(t, func(t *testing.T, on target) {
		good := forge(on.key, on.header(""), on.payload)
		require.NoError(t, on.verify(good))
		parts := strings.Split(good, ".")
		flat := fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, parts[0], parts[1], parts[2])
		general := fmt.Sprintf(`{"payload":%q,"signatures":[{"protected":%q,"signature":%q},{"protected":%q,"signature":""}]}`, parts[1], parts[0], parts[2], parts[0])
		last := good[len(good)-1]
		stray := good[:len(good)-1] + string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", last)^1])
		for _, raw := range []string{
			"", ".", "..", "...", "a", parts[0], parts[0] + "." + parts[1], good + ".", "." + good,
			good + "." + parts[2], parts[0] + ".." + parts[1] + "." + parts[2],
			flat, general, b64.EncodeToString([]byte(general)), good + "=", " " + good, good + " ", good + "\n",
			good[:10] + "\r\n" + good[10:],
			parts[0] + "." + base64.StdEncoding.EncodeToString([]byte(on.payload+"\xfb\xff")) + "." + parts[2], stray,
			"Bearer " + good, good + "\x00",
		} {
			require.ErrorIs(t, on.verify(raw), Malformed, raw)
		}
		require.ErrorIs(t, on.verify(parts[0]+".."+parts[2]), BadSignature)
		require.ErrorIs(t, on.verify(parts[0]+"."+parts[1]+"."), BadSignature)
		require.ErrorIs(t, on.verify(good+parts[2]), BadSignature)
	})
}

func TestAttackPayloads(t *testing.T) {
	t.Parallel()
	attack(t, func(t *testing.T, on target) {
		for _, payload := range []string{"", "null", "[]", "7", `"sub"`, "{", on.payload + on.payload, "\xef\xbb\xbf" + on.payload, on.payload + "\x00", "\xff"} {
			require.ErrorIs(t, on.verify(forge(on.key, on.header(""), payload)), Malformed, payload)
		}
		require.ErrorIs(t, on.verify(forge(on.key, on.header(""), "{}")), MissingClaim)
		deep := `{"x":` + strings.Repeat("[", 2900) + strings.Repeat("]", 2900) + "}"
		require.ErrorIs(t, on.verify(forge(on.key, on.header(""), deep)), MissingClaim)
	})
}

// The limit applies to the received bytes, before anything is decoded.
func TestAttackGiantTokens(t *testing.T) {
	t.Parallel()
	attack(t, func(t *testing.T, on target) {
		padded := func(size int) string {
			return forge(on.key, on.header(""), strings.TrimSuffix(on.payload, "}")+`,"pad":"`+strings.Repeat("x", size)+`"}`)
		}
		size := (MaxTokenBytes - len(padded(0))) / 4 * 3 // Base64 encodes three bytes as four.
		require.NoError(t, on.verify(padded(size)))
		require.ErrorIs(t, on.verify(padded(size+6)), TooLarge)
		require.ErrorIs(t, on.verify(strings.Repeat("a", 1<<20)), TooLarge)
	})
}

// A token is refused after any of its bytes is changed, removed or repeated.
func TestAttackEveryByte(t *testing.T) {
	t.Parallel()
	attack(t, func(t *testing.T, on target) {
		good := forge(on.key, on.header(""), on.payload)
		for i := range good {
			other := byte('A')
			if good[i] == other {
				other = 'B'
			}
			require.Error(t, on.verify(good[:i]+string(other)+good[i+1:]), i)
			require.Error(t, on.verify(good[:i]+good[i+1:]), i)
			require.Error(t, on.verify(good[:i]+good[i:i+1]+good[i:]), i)
		}
	})
}
