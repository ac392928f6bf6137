package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/lestrrat-go/jwx/v2/jwk"
)

// KeySet is an immutable set of public keys. Safe for concurrent use.
type KeySet struct {
	keys  []*publicKey
	byKID map[string][]*publicKey
}

type publicKey struct {
	kid, thumbprint string
	algs            []string // algorithms that the key may be used with; never empty
	verify          func(signed, signature []byte) bool
}

// ParseKeySet reads a JWK Set (RFC 7517 section 5). It keeps public Ed25519, P-256 and RSA keys (2048 to 8192 bits) for
// signatures and, as the RFC asks, ignores all others, private and symmetric keys too. The result may be empty, because
// an issuer may withdraw all its keys. Errors: the document is no JWK Set; two different keys have the same kid and alg.
func ParseKeySet(document []byte) (*KeySet, error) {
	var doc struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("not a JWK set: %w", err)
	}
	if doc.Keys == nil {
		return nil, errors.New("not a JWK set: no keys member")
	}
	set := &KeySet{byKID: make(map[string][]*publicKey, len(doc.Keys))}
	for _, raw := range doc.Keys {
		if err := set.add(parseKey(raw)); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// Len returns the number of usable keys.
func (s *KeySet) Len() int { return len(s.keys) }

func (s *KeySet) add(key *publicKey) error {
	if key == nil {
		return nil
	}
	for _, other := range s.byKID[key.kid] {
		switch {
		case !slices.ContainsFunc(key.algs, other.fits):
		case other.thumbprint == key.thumbprint:
			return nil
		case key.kid != "":
			return fmt.Errorf("JWK set: two different keys have the kid %q", key.kid)
		}
	}
	s.keys = append(s.keys, key)
	s.byKID[key.kid] = append(s.byKID[key.kid], key)
	return nil
}

// find returns the key for a header. Without a kid, exactly one key of the set must fit the alg.
func (s *KeySet) find(h header) (*publicKey, error) {
	fits := func(k *publicKey) bool { return k.fits(h.alg.value) }
	if !h.kid.set {
		return s.lone(fits)
	}
	named := s.byKID[h.kid.value]
	if len(named) == 0 {
		return nil, UnknownKey
	}
	if i := slices.IndexFunc(named, fits); i >= 0 {
		return named[i], nil
	}
	return nil, WrongAlg
}

func (s *KeySet) lone(fits func(*publicKey) bool) (*publicKey, error) {
	i := slices.IndexFunc(s.keys, fits)
	if i < 0 || slices.ContainsFunc(s.keys[i+1:], fits) {
		return nil, UnknownKey
	}
	return s.keys[i], nil
}

func (k *publicKey) fits(alg string) bool { return slices.Contains(k.algs, alg) }

// parseKey returns nil for a key that is not usable.
func parseKey(raw []byte) *publicKey {
	parsed, err := jwk.ParseKey(raw)
	if err != nil || !forVerifying(parsed) {
		return nil
	}
	var material any
	if err := parsed.Raw(&material); err != nil {
		return nil
	}
	key := newPublicKey(material)
	if key == nil {
		return nil
	}
	if alg := parsed.Algorithm().String(); alg != "" {
		key.algs = slices.DeleteFunc(key.algs, func(a string) bool { return a != alg })
	}
	thumbprint, err := parsed.Thumbprint(crypto.SHA256)
	if err != nil || len(key.algs) == 0 {
		return nil
	}
	key.kid, key.thumbprint = parsed.KeyID(), string(thumbprint)
	return key
}

func forVerifying(key jwk.Key) bool {
	use, ops := key.KeyUsage(), key.KeyOps()
	return (use == "" || use == string(jwk.ForSignature)) && (len(ops) == 0 || slices.Contains(ops, jwk.KeyOpVerify))
}

// newPublicKey checks lengths, curves and sizes, which jwx does not.
func newPublicKey(material any) *publicKey {
	switch pub := material.(type) {
	case ed25519.PublicKey:
		if len(pub) == ed25519.PublicKeySize {
			return &publicKey{algs: []string{AlgEdDSA, AlgEd25519}, verify: verifyEd25519(pub)}
		}
	case *ecdsa.PublicKey:
		if _, err := pub.ECDH(); err == nil && pub.Curve == elliptic.P256() {
			return &publicKey{algs: []string{AlgES256}, verify: verifyES256(pub)}
		}
	case *rsa.PublicKey:
		if bits := pub.N.BitLen(); bits >= 2048 && bits <= 8192 {
			return &publicKey{algs: []string{AlgRS256}, verify: verifyRS256(pub)}
		}
	}
	return nil
}

func verifyEd25519(pub ed25519.PublicKey) func(signed, signature []byte) bool {
	return func(signed, signature []byte) bool { return ed25519.Verify(pub, signed, signature) }
}

// verifyES256 reads the two integers in the form of RFC 7518 section 3.4: 32 bytes each.
func verifyES256(pub *ecdsa.PublicKey) func(signed, signature []byte) bool {
	return func(signed, signature []byte) bool {
		if len(signature) != 64 {
			return false
		}
		digest := sha256.Sum256(signed)
		r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
		return ecdsa.Verify(pub, digest[:], r, s)
	}
}

func verifyRS256(pub *rsa.PublicKey) func(signed, signature []byte) bool {
	return func(signed, signature []byte) bool {
		digest := sha256.Sum256(signed)
		return rsa.VerifyPKCS1v15(pub, crypto.SHA256, digest[:], signature) == nil
	}
}
