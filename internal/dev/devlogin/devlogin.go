// Package devlogin is a login for development, benchmarks and tests: it signs players' access tokens. In production the
// title's own login signs them, and the director has only its public keys.
package devlogin

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/lattice-director/director/token"
)

// Issuer signs players' access tokens with an Ed25519 key. Use [New], [Read] or [Parse]. Safe for concurrent use.
type Issuer struct {
	keyID      string
	privateKey ed25519.PrivateKey
}

// privateJWK is an Ed25519 key in the format of RFC 8037, with the private part.
type privateJWK struct {
	KTY string `json:"kty"`
	CRV string `json:"crv"`
	Alg string `json:"alg"`
	KID string `json:"kid"`
	X   string `json:"x"`
	D   string `json:"d,omitempty"`
}

var b64 = base64.RawURLEncoding

// New returns an issuer with a new key.
func New() (Issuer, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return Issuer{}, err
	}
	i := Issuer{privateKey: private}
	// RFC 7638: the thumbprint is the hash of these members in this order.
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"Ed25519","kty":"OKP","x":%q}`, i.publicText()))
	i.keyID = b64.EncodeToString(sum[:])
	return i, nil
}

func (i Issuer) publicText() string {
	return b64.EncodeToString(i.privateKey.Public().(ed25519.PublicKey)) //nolint:forcetypeassert // Public's doc
}

func (i Issuer) publicJWK() privateJWK {
	return privateJWK{KTY: "OKP", CRV: "Ed25519", Alg: token.AlgEdDSA, KID: i.keyID, X: i.publicText()}
}

// JWKS returns the public key set as JSON (RFC 7517), with which the director verifies this issuer's tokens.
func (i Issuer) JWKS() string {
	set, _ := json.Marshal(map[string][]privateJWK{"keys": {i.publicJWK()}}) // strings always encode
	return string(set)
}

// JWK returns the private key as a line of JSON (RFC 8037), which [Parse] reads.
func (i Issuer) JWK() []byte {
	jwk := i.publicJWK()
	jwk.D = b64.EncodeToString(i.privateKey.Seed())
	text, _ := json.Marshal(jwk) // strings always encode
	return append(text, '\n')
}

// Read reads the private key from a file with a JWK. Errors: the file cannot be read, or has no such key; an error
// never quotes the file's content.
func Read(path string) (Issuer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Issuer{}, err
	}
	i, err := Parse(text)
	if err != nil {
		return Issuer{}, fmt.Errorf("%s: %w", path, err)
	}
	return i, nil
}

var errNoIssuer = errors.New(`this is no private Ed25519 key as a JWK: {"kty":"OKP","crv":"Ed25519","kid":…,"x":…,"d":…}`)

// Parse parses a private Ed25519 key in the form of a JWK (RFC 8037). An error never quotes the text.
func Parse(text []byte) (Issuer, error) {
	var jwk privateJWK
	if err := json.Unmarshal(text, &jwk); err != nil {
		return Issuer{}, errNoIssuer // the parser's error may quote the key
	}
	seed, err := b64.DecodeString(jwk.D)
	if err != nil || len(seed) != ed25519.SeedSize || jwk.KTY != "OKP" || jwk.CRV != "Ed25519" || jwk.KID == "" {
		return Issuer{}, errNoIssuer
	}
	i := Issuer{keyID: jwk.KID, privateKey: ed25519.NewKeyFromSeed(seed)}
	if i.publicText() != jwk.X {
		return Issuer{}, errors.New("the public part (x) of this key does not belong to its private part (d)")
	}
	return i, nil
}

// Claims are the claims of an access token (RFC 7519). Mint sets ID, IssuedAt and Expires.
type Claims struct {
	Issuer   string `json:"iss,omitempty"`
	Audience string `json:"aud,omitempty"`
	Subject  string `json:"sub"`
	ID       string `json:"jti"`
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
	Game     any    `json:"game,omitempty"` // what the login knows of the player, for profiles; nil: nothing
}

// Mint returns an access token (RFC 7515, compact) that is valid for ttl. Its expiry is truncated to the second.
func (i Issuer) Mint(claims Claims, ttl time.Duration) (raw string, expires time.Time, err error) {
	now := time.Now()
	expires = now.Add(ttl).Truncate(time.Second)
	claims.ID, claims.IssuedAt, claims.Expires = rand.Text(), now.Unix(), expires.Unix()
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", expires, err
	}
	header := fmt.Appendf(nil, `{"alg":"EdDSA","kid":%q,"typ":"JWT"}`, i.keyID)
	signed := b64.EncodeToString(header) + "." + b64.EncodeToString(payload)
	return signed + "." + b64.EncodeToString(ed25519.Sign(i.privateKey, []byte(signed))), expires, nil
}
