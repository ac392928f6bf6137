package bots

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// accessTokenTTL is how long the access tokens of an [Issuer] are valid.
const accessTokenTTL = 10 * time.Minute

// Issuer makes access tokens with a private key, as the login service of a real game does. It is for development: the
// director must be configured to trust its public key. Safe for concurrent use.
type Issuer struct {
	signingKey  ed25519.PrivateKey
	tokenHeader string // encoded
	// Name and Audience become iss and aud; empty ones are left out. Set them before the first token.
	Name, Audience string
}

// LoadIssuer reads an Ed25519 private key as a JWK (RFC 8037): from a file, or from the JSON text itself.
func LoadIssuer(spec string) (*Issuer, error) {
	raw := []byte(spec)
	if !strings.HasPrefix(strings.TrimSpace(spec), "{") {
		var err error
		if raw, err = os.ReadFile(spec); err != nil {
			return nil, fmt.Errorf("issuer key: %w", err)
		}
	}
	return parseIssuer(raw)
}

// parseIssuer reads a private JWK. Its errors quote nothing of the input, which may be a secret.
func parseIssuer(raw []byte) (*Issuer, error) {
	var jwk struct {
		Kty string `json:"kty"`
		Crv string `json:"crv"`
		Kid string `json:"kid"`
		X   string `json:"x"`
		D   string `json:"d"`
	}
	if err := json.Unmarshal(raw, &jwk); err != nil {
		return nil, errors.New("issuer key: not a JWK")
	}
	// d is the seed of RFC 8032, from which the public key follows.
	seed, err := base64.RawURLEncoding.DecodeString(jwk.D)
	if jwk.Kty != "OKP" || jwk.Crv != "Ed25519" || err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("issuer key: not an Ed25519 private key")
	}
	key := ed25519.NewKeyFromSeed(seed)
	// Without x, d alone is the key.
	if public := key[ed25519.SeedSize:]; jwk.X != "" && jwk.X != base64.RawURLEncoding.EncodeToString(public) {
		return nil, errors.New("issuer key: x and d are not of one key")
	}
	header, err := encodePart(map[string]string{"alg": "EdDSA", "typ": "JWT", "kid": jwk.Kid})
	if err != nil {
		return nil, err
	}
	return &Issuer{signingKey: key, tokenHeader: header}, nil
}

// AccessToken makes an access token of a player (RFC 7515, compact), as [Config] needs it.
func (i *Issuer) AccessToken(_ context.Context, sub string) (string, error) {
	now := time.Now()
	claims := map[string]any{"sub": sub, "iat": now.Unix(), "exp": now.Add(accessTokenTTL).Unix(), "jti": rand.Text()}
	if i.Name != "" {
		claims["iss"] = i.Name
	}
	if i.Audience != "" {
		claims["aud"] = i.Audience
	}
	payload, err := encodePart(claims)
	if err != nil {
		return "", err
	}
	signed := i.tokenHeader + "." + payload
	return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(i.signingKey, []byte(signed))), nil
}

// encodePart encodes the header or the claims of a token.
func encodePart(v any) (string, error) {
	raw, err := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(raw), err
}
