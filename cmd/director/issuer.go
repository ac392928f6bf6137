package main

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

// issuer signs players' access tokens on a developer's machine. In production a title's own login does, and the director
// only ever sees its public keys.
type issuer struct {
	kid     string
	private ed25519.PrivateKey
}

// privateJWK is an Ed25519 key as RFC 8037 writes it, the private part included.
type privateJWK struct {
	KTY string `json:"kty"`
	CRV string `json:"crv"`
	Alg string `json:"alg"`
	KID string `json:"kid"`
	X   string `json:"x"`
	D   string `json:"d,omitempty"`
}

var b64 = base64.RawURLEncoding

func newIssuer() (issuer, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return issuer{}, err
	}
	i := issuer{private: private}
	// RFC 7638: the thumbprint is taken of these members in this order.
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"Ed25519","kty":"OKP","x":%q}`, i.x()))
	i.kid = b64.EncodeToString(sum[:])
	return i, nil
}

func (i issuer) x() string { return b64.EncodeToString(i.private.Public().(ed25519.PublicKey)) } //nolint:forcetypeassert // Public's doc

func (i issuer) public() privateJWK {
	return privateJWK{KTY: "OKP", CRV: "Ed25519", Alg: token.AlgEdDSA, KID: i.kid, X: i.x()}
}

// jwks is what the director verifies this issuer's tokens with.
func (i issuer) jwks() string {
	set, _ := json.Marshal(map[string][]privateJWK{"keys": {i.public()}}) // strings always encode
	return string(set)
}

func (i issuer) file() []byte {
	jwk := i.public()
	jwk.D = b64.EncodeToString(i.private.Seed())
	text, _ := json.Marshal(jwk) // strings always encode
	return append(text, '\n')
}

func readIssuer(path string) (issuer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return issuer{}, err
	}
	i, err := parseIssuer(text)
	if err != nil {
		return issuer{}, fmt.Errorf("%s: %w", path, err)
	}
	return i, nil
}

var errNoIssuer = errors.New(`this is no private Ed25519 key as a JWK: {"kty":"OKP","crv":"Ed25519","kid":…,"x":…,"d":…}`)

func parseIssuer(text []byte) (issuer, error) {
	var jwk privateJWK
	if err := json.Unmarshal(text, &jwk); err != nil {
		return issuer{}, errNoIssuer // the parser's words may quote the key
	}
	seed, err := b64.DecodeString(jwk.D)
	if err != nil || len(seed) != ed25519.SeedSize || jwk.KTY != "OKP" || jwk.CRV != "Ed25519" || jwk.KID == "" {
		return issuer{}, errNoIssuer
	}
	i := issuer{kid: jwk.KID, private: ed25519.NewKeyFromSeed(seed)}
	if i.x() != jwk.X {
		return issuer{}, errors.New("the public part (x) of this key does not belong to its private part (d)")
	}
	return i, nil
}

// accessClaims is what the issuer says of a player (RFC 7519).
type accessClaims struct {
	Issuer   string `json:"iss,omitempty"`
	Audience string `json:"aud,omitempty"`
	Subject  string `json:"sub"`
	ID       string `json:"jti"`
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// mint makes an access token.
func (i issuer) mint(claims accessClaims, ttl time.Duration) (raw string, expires time.Time, err error) {
	now := time.Now()
	expires = now.Add(ttl).Truncate(time.Second)
	claims.ID, claims.IssuedAt, claims.Expires = rand.Text(), now.Unix(), expires.Unix()
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", expires, err
	}
	header := fmt.Appendf(nil, `{"alg":"EdDSA","kid":%q,"typ":"JWT"}`, i.kid)
	signed := b64.EncodeToString(header) + "." + b64.EncodeToString(payload)
	return signed + "." + b64.EncodeToString(ed25519.Sign(i.private, []byte(signed))), expires, nil
}
