package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"

	"github.com/lattice-director/director/examples/arena/bots"
)

// jwk is an Ed25519 key as RFC 8037 writes it; without D it is public.
type jwk struct {
	KTY string `json:"kty"`
	CRV string `json:"crv"`
	ALG string `json:"alg"`
	Use string `json:"use"`
	KID string `json:"kid"`
	X   string `json:"x"`
	D   string `json:"d,omitempty"`
}

// newLogin makes what a game's own login would be: somebody who signs players' access tokens, and the public key set
// (JWKS) that the director verifies them with.
func newLogin() (login *bots.Issuer, jwks string, err error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, "", err
	}
	key := jwk{KTY: "OKP", CRV: "Ed25519", ALG: "EdDSA", Use: "sig", KID: "demo-login", X: base64.RawURLEncoding.EncodeToString(public)}
	set, err := json.Marshal(map[string][]jwk{"keys": {key}})
	if err != nil {
		return nil, "", err
	}
	key.D = base64.RawURLEncoding.EncodeToString(private.Seed())
	raw, err := json.Marshal(key)
	if err != nil {
		return nil, "", err
	}
	login, err = bots.LoadIssuer(string(raw))
	return login, string(set), err
}
