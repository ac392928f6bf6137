package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/stretchr/testify/require"
)

// A key is used with its own algorithm only. The tokens name another alg and are signed with that key or with one of
// the attacker; RSA-PSS is not accepted as PKCS #1.
func TestAttackKeyOfAnotherAlgorithm(t *testing.T) {
	t.Parallel()
	on := targets(t)[1]
	for _, alg := range []string{AlgEdDSA, AlgES256, AlgRS256} {
		for _, kid := range []string{"ed", "ec", "rsa"} {
			if _, own := theIssuer().key(alg); own == kid {
				continue
			}
			raw := forge(on.key, fmt.Sprintf(`{"alg":%q,"kid":%q}`, alg, kid), on.payload)
			require.ErrorIs(t, on.verify(raw), WrongAlg, alg+kid)
		}
	}
	pss := b64.EncodeToString([]byte(`{"alg":"RS256","kid":"rsa"}`)) + "." + b64.EncodeToString([]byte(on.payload))
	digest := sha256.Sum256([]byte(pss))
	signature, err := rsa.SignPSS(rand.Reader, theIssuer().rsa, crypto.SHA256, digest[:], nil)
	require.NoError(t, err)
	require.ErrorIs(t, on.verify(pss+"."+b64.EncodeToString(signature)), BadSignature)
	for _, alg := range []jwa.SignatureAlgorithm{jwa.PS256, jwa.RS384, jwa.RS512} {
		headers := jws.NewHeaders()
		require.NoError(t, headers.Set("kid", "rsa"))
		raw, err := jws.Sign([]byte(on.payload), jws.WithKey(alg, theIssuer().rsa, jws.WithProtectedHeaders(headers)))
		require.NoError(t, err)
		require.ErrorIs(t, on.verify(string(raw)), AlgNotAllowed, alg)
	}
}

// ECDSA signatures of zeros (CVE-2022-21449), in DER instead of the fixed form, or of another curve, are refused.
func TestAttackES256Signatures(t *testing.T) {
	t.Parallel()
	on := targets(t)[1]
	signed := b64.EncodeToString([]byte(`{"alg":"ES256","kid":"ec"}`)) + "." + b64.EncodeToString([]byte(on.payload))
	digest := sha256.Sum256([]byte(signed))
	der, err := ecdsa.SignASN1(rand.Reader, theIssuer().ec, digest[:])
	require.NoError(t, err)
	order := elliptic.P256().Params().N.Bytes()
	c, err := splitToken(theIssuer().sign(t, AlgES256, claimsOf("alice")))
	require.NoError(t, err)
	padded := slices.Insert(slices.Clone(c.signature), 32, 0)
	require.False(t, verifyECDSA(&theIssuer().ec.PublicKey)(AlgES256, c.signedBytes, padded),
		"the same two numbers written longer")
	for _, signature := range [][]byte{make([]byte, 64), der, append(order, order...), make([]byte, 63),
		make([]byte, 96), nil} {
		require.ErrorIs(t, on.verify(signed+"."+b64.EncodeToString(signature)), BadSignature)
	}
}

// The reason for a refusal is a fixed code and reveals nothing of the token.
func TestReasonsRevealNothingOfTheToken(t *testing.T) {
	t.Parallel()
	attack(t, func(t *testing.T, on target) {
		err := on.verify(forge(on.key, `{"alg":"EdDSA","kid":"s3cret"}`, on.payload))
		var reason Invalid
		require.ErrorAs(t, err, &reason)
		require.Equal(t, UnknownKey, reason)
		require.Equal(t, "token refused: unknown_key", err.Error())
	})
}
