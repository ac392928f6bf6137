package token

import (
	"crypto"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwk"
)

// Algorithms as JOSE headers name them. EdDSA (RFC 8037) and Ed25519 (RFC 9864, which names the curve too) make
// the same signatures; a key is published for one of the two names and tokens must use that one.
const (
	AlgEdDSA   = "EdDSA"
	AlgEd25519 = "Ed25519"
	AlgES256   = "ES256"
	AlgRS256   = "RS256"
)

// Material is a signing key as a row of the key table stores it.
type Material struct {
	KID       string // RFC 7638 thumbprint, base64url
	Alg       string // AlgEdDSA or AlgEd25519: what headers and the JWK say
	PublicJWK []byte // JSON
	Sealed    []byte // see Sealer
	SealedBy  string // names the key-encryption key, in hex
}

// Key is Material with the times that the rotation gave it, all by the database's clock:
// PublishAt ≤ SignFrom < SignUntil ≤ VerifyUntil.
type Key struct {
	Material
	PublishAt   time.Time // in the JWKS from here on
	SignFrom    time.Time // signs from here on
	SignUntil   time.Time // does not sign from here on
	VerifyUntil time.Time // leaves the JWKS
	Tainted     bool      // neither signs nor is published, whatever the times say
}

// Mint makes a new Ed25519 key and seals it.
func (s *Sealer) Mint(alg string) (Material, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return Material{}, err
	}
	kid, err := thumbprint(private)
	if err != nil {
		return Material{}, err
	}
	public, err := publicJWK(private, kid, alg)
	if err != nil {
		return Material{}, err
	}
	m := Material{KID: kid, Alg: alg, PublicJWK: public}
	s.seal(&m, private)
	return m, nil
}

func thumbprint(private ed25519.PrivateKey) (string, error) {
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
