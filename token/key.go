package token

import (
	"crypto"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwk"
)

// Algorithms by their names in JOSE headers. EdDSA (RFC 8037) and Ed25519 (RFC 9864) are two names for the same
// signatures; a key is published under one of them, and its tokens must use the same name.
const (
	AlgEdDSA   = "EdDSA"
	AlgEd25519 = "Ed25519"
	AlgES256   = "ES256"
	AlgRS256   = "RS256"
)

// Material is a signing key as stored in a row of the key table.
type Material struct {
	KID       string // RFC 7638 thumbprint, base64url
	Alg       string // AlgEdDSA or AlgEd25519: the alg of token headers and of the JWK
	PublicJWK []byte // JSON
	Sealed    []byte // see Sealer
	SealedBy  string // names the key-encryption key, in hex
}

// Key is Material with the times that the rotation planned for it, by the database's clock:
// PublishAt ≤ SignFrom < SignUntil ≤ VerifyUntil.
type Key struct {
	Material    Material
	PublishAt   time.Time // start of its publication in the JWKS
	SignFrom    time.Time // start of its signing time
	SignUntil   time.Time // end of its signing time, exclusive
	VerifyUntil time.Time // end of its publication, exclusive
	Tainted     bool      // neither signs nor is published at any time
}

func keyThumbprint(private ed25519.PrivateKey) (string, error) {
	public, err := jwk.FromRaw(private.Public())
	if err != nil {
		return "", err
	}
	sum, err := public.Thumbprint(crypto.SHA256)
	return b64.EncodeToString(sum), err
}

func publicJWK(private ed25519.PrivateKey, kid, alg string) ([]byte, error) {
	if alg != AlgEdDSA && alg != AlgEd25519 {
		return nil, fmt.Errorf("no signing key can have the alg %q: it is %s or %s", alg, AlgEdDSA, AlgEd25519)
	}
	public, err := jwk.FromRaw(private.Public())
	if err != nil {
		return nil, err
	}
	fields := map[string]any{jwk.KeyIDKey: kid, jwk.AlgorithmKey: alg, jwk.KeyUsageKey: jwk.ForSignature}
	for name, value := range fields {
		if err := public.Set(name, value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(public)
}
