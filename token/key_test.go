package token

import (
	"crypto/ed25519"
	"encoding/json"
	"testing"

	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/stretchr/testify/require"
)

func TestMintPublishesThePublicKeyOnly(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{AlgEdDSA, AlgEd25519} {
		sealer := newSealer(t)
		m, err := sealer.Mint(alg)
		require.NoError(t, err)
		var fields map[string]string
		require.NoError(t, json.Unmarshal(m.PublicJWK, &fields))
		private, err := sealer.Open(m)
		require.NoError(t, err)
		require.Equal(t, map[string]string{
			"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": alg, "kid": m.KID,
			"x": b64.EncodeToString(private.Public().(ed25519.PublicKey)),
		}, fields)
		parsed, err := jwk.ParseKey(m.PublicJWK)
		require.NoError(t, err)
		isPrivate, err := jwk.IsPrivateKey(parsed)
		require.NoError(t, err)
		require.False(t, isPrivate)
	}
}

func TestMintRefusesOtherAlgorithms(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{"", "none", "HS256", "ES256", "eddsa"} {
		_, err := newSealer(t).Mint(alg)
		require.Error(t, err, alg)
	}
}

// The key of RFC 8037 appendix A.1 has the thumbprint of appendix A.3, and verifies the signature of appendix A.4.
func TestRFC8037Vectors(t *testing.T) {
	t.Parallel()
	seed, err := b64.DecodeString("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
	require.NoError(t, err)
	private := ed25519.NewKeyFromSeed(seed)
	kid, err := keyThumbprint(private)
	require.NoError(t, err)
	require.Equal(t, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", kid)

	c, err := splitToken("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc." +
		"hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")
	require.NoError(t, err)
	require.Equal(t, "EdDSA", c.header.algorithm.stringValue)
	require.Equal(t, "Example of Ed25519 signing", string(c.payloadJSON))
	public, err := publicJWK(private, kid, AlgEdDSA)
	require.NoError(t, err)
	key, why := parseKey(public, playerAlgs)
	require.Empty(t, why)
	require.True(t, key.verifySignature(AlgEdDSA, c.signedBytes, c.signature))
}
