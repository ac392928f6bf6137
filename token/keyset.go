package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	_ "crypto/sha256" // for digest
	_ "crypto/sha512" // for digest
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/lestrrat-go/jwx/v2/jwk"
)

// KeySet is an immutable set of public keys. Safe for concurrent use.
type KeySet struct {
	publicKeys  []*publicKey
	byKID       map[string][]*publicKey
	ignoredKeys []IgnoredKey
}

type publicKey struct {
	keyID, ownThumbprint string
	fittingAlgs          []string // algorithms that the key may be used with; never empty
	verifySignature      func(alg string, signed, signature []byte) bool
}

// IgnoredKey is a key of a set that is not used.
type IgnoredKey struct {
	KID string // empty: it has none, or cannot be read
	Why string // in words
}

// String returns both in words, for people.
func (k IgnoredKey) String() string {
	if k.KID == "" {
		return "a key without a kid: " + k.Why
	}
	return fmt.Sprintf("key %.64q: %s", k.KID, k.Why)
}

// ParseKeySet reads a JWK Set (RFC 7517 section 5) for tokens of players and sessions: it keeps public Ed25519, P-256
// and RSA keys (2048 to 8192 bits) for signatures and, as the RFC asks, ignores all others, private and symmetric keys
// too. Of two different keys with the same kid and alg it uses none, since a verification would depend on their order.
// The result may be empty. Errors: the document is no JWK Set.
func ParseKeySet(document []byte) (*KeySet, error) { return parseKeySet(document, playerAlgs) }

func parseKeySet(document []byte, algs []string) (*KeySet, error) {
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
		key, why := parseKey(raw, algs)
		if why != "" {
			set.ignoredKeys = append(set.ignoredKeys, IgnoredKey{nameOfKey(raw), why})
			continue
		}
		set.add(key)
	}
	set.dropAmbiguous()
	return set, nil
}

// nameOfKey returns the kid of a key that cannot be used.
func nameOfKey(raw []byte) string {
	var named struct {
		KID string `json:"kid"`
	}
	_ = json.Unmarshal(raw, &named) // the key may be anything: then it has no name
	return named.KID
}

// Len returns the number of usable keys.
func (s *KeySet) Len() int { return len(s.publicKeys) }

// Ignored returns the keys of the document that are not used.
func (s *KeySet) Ignored() []IgnoredKey { return s.ignoredKeys }

// add adds a key, unless the set has it already.
func (s *KeySet) add(key *publicKey) {
	same := func(o *publicKey) bool {
		return o.ownThumbprint == key.ownThumbprint && slices.ContainsFunc(key.fittingAlgs, o.fitsAlg)
	}
	if !slices.ContainsFunc(s.byKID[key.keyID], same) {
		s.publicKeys = append(s.publicKeys, key)
		s.byKID[key.keyID] = append(s.byKID[key.keyID], key)
	}
}

// dropAmbiguous drops keys that have a kid and an alg in common with a different key.
func (s *KeySet) dropAmbiguous() {
	ambiguous := func(k *publicKey) bool {
		return k.keyID != "" && slices.ContainsFunc(s.byKID[k.keyID], func(o *publicKey) bool {
			return o.ownThumbprint != k.ownThumbprint && slices.ContainsFunc(k.fittingAlgs, o.fitsAlg)
		})
	}
	var kept []*publicKey
	for _, k := range s.publicKeys {
		if ambiguous(k) {
			s.ignoredKeys = append(s.ignoredKeys, IgnoredKey{k.keyID, "another key of the set has the same kid"})
		} else {
			kept = append(kept, k)
		}
	}
	s.publicKeys = kept
	s.byKID = make(map[string][]*publicKey, len(kept))
	for _, k := range kept {
		s.byKID[k.keyID] = append(s.byKID[k.keyID], k)
	}
}

// find returns the key for a header. Without a kid, exactly one key of the set must fit the alg.
func (s *KeySet) find(h header) (*publicKey, error) {
	fits := func(k *publicKey) bool { return k.fitsAlg(h.algorithm.stringValue) }
	if !h.keyID.isSet {
		return s.loneFitting(fits)
	}
	named := s.byKID[h.keyID.stringValue]
	if len(named) == 0 {
		return nil, UnknownKey
	}
	if i := slices.IndexFunc(named, fits); i >= 0 {
		return named[i], nil
	}
	return nil, WrongAlg
}

// loneFitting returns the only key of the set that fits; UnknownKey if none or several do.
func (s *KeySet) loneFitting(fits func(*publicKey) bool) (*publicKey, error) {
	i := slices.IndexFunc(s.publicKeys, fits)
	if i < 0 || slices.ContainsFunc(s.publicKeys[i+1:], fits) {
		return nil, UnknownKey
	}
	return s.publicKeys[i], nil
}

func (k *publicKey) fitsAlg(alg string) bool { return slices.Contains(k.fittingAlgs, alg) }

// parseKey returns a key, or why it is not usable.
func parseKey(raw []byte, algs []string) (key *publicKey, why string) {
	parsed, err := jwk.ParseKey(raw)
	if err != nil {
		return nil, "it cannot be read, or is of an unknown type"
	}
	if !mayVerify(parsed) {
		return nil, "it is not for verifying signatures (use, key_ops)"
	}
	var material any
	if err := parsed.Raw(&material); err != nil {
		return nil, "its values are malformed"
	}
	if key, why = newPublicKey(material); key == nil {
		return nil, why
	}
	alg := parsed.Algorithm().String()
	key.fittingAlgs = slices.DeleteFunc(key.fittingAlgs,
		func(a string) bool { return !slices.Contains(algs, a) || alg != "" && a != alg })
	if len(key.fittingAlgs) == 0 {
		return nil, "its algorithm is none of " + strings.Join(algs, ", ")
	}
	thumbprint, err := parsed.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, "its values are malformed"
	}
	key.keyID, key.ownThumbprint = parsed.KeyID(), string(thumbprint)
	return key, ""
}

// mayVerify reports whether use and key_ops let a key verify signatures.
func mayVerify(key jwk.Key) bool {
	use, ops := key.KeyUsage(), key.KeyOps()
	return (use == "" || use == string(jwk.ForSignature)) && (len(ops) == 0 || slices.Contains(ops, jwk.KeyOpVerify))
}

// newPublicKey checks lengths, curves and sizes, which jwx does not. It returns nil and the reason for a key that is
// not usable.
func newPublicKey(material any) (key *publicKey, why string) {
	switch pub := material.(type) {
	case ed25519.PublicKey:
		if len(pub) == ed25519.PublicKeySize {
			return &publicKey{fittingAlgs: []string{AlgEdDSA, AlgEd25519}, verifySignature: verifyEd25519(pub)}, ""
		}
		return nil, "its length is wrong"
	case *ecdsa.PublicKey:
		alg, known := curveAlgs[pub.Curve]
		if _, err := pub.ECDH(); err == nil && known {
			return &publicKey{fittingAlgs: []string{alg}, verifySignature: verifyECDSA(pub)}, ""
		}
		return nil, "its curve is not supported, or it is not on it"
	case *rsa.PublicKey:
		if bits := pub.N.BitLen(); bits >= 2048 && bits <= 8192 {
			return &publicKey{fittingAlgs: slices.Clone(rsaAlgs), verifySignature: verifyRSA(pub)}, ""
		}
		return nil, "it has fewer than 2048 or more than 8192 bits"
	}
	return nil, "it is no public key of a supported type"
}

// The algorithms of keys (RFC 7518 section 3.1, RFC 8037), and those that tokens of players may have.
var (
	curveAlgs = map[elliptic.Curve]string{elliptic.P256(): AlgES256, elliptic.P384(): "ES384", elliptic.P521(): "ES512"}
	rsaAlgs   = []string{AlgRS256, "RS384", "RS512", "PS256", "PS384", "PS512"}
	// hashes has the hash of an algorithm by the number in its name
	hashes     = map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}
	playerAlgs = []string{AlgEdDSA, AlgEd25519, AlgES256, AlgRS256}
)

// LoginAlgs are the algorithms with which issuers of OpenID Connect sign.
func LoginAlgs() []string {
	return append([]string{AlgEdDSA, AlgES256, "ES384", "ES512"}, rsaAlgs...)
}

// digestSigned hashes what was signed with the hash of the alg, an algorithm of the key.
func digestSigned(alg string, signed []byte) (crypto.Hash, []byte) {
	hash := hashes[alg[2:]] // after the two letters of the family: RS, PS or ES
	h := hash.New()
	_, _ = h.Write(signed) // never fails, by its contract
	return hash, h.Sum(nil)
}

func verifyEd25519(pub ed25519.PublicKey) func(alg string, signed, signature []byte) bool {
	return func(_ string, signed, signature []byte) bool { return ed25519.Verify(pub, signed, signature) }
}

// verifyECDSA reads the two integers in the form of RFC 7518 section 3.4: as many bytes each as the curve has.
func verifyECDSA(pub *ecdsa.PublicKey) func(alg string, signed, signature []byte) bool {
	size := (pub.Curve.Params().BitSize + 7) / 8
	return func(alg string, signed, signature []byte) bool {
		if len(signature) != 2*size {
			return false
		}
		_, sum := digestSigned(alg, signed)
		r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
		return ecdsa.Verify(pub, sum, r, s)
	}
}

func verifyRSA(pub *rsa.PublicKey) func(alg string, signed, signature []byte) bool {
	return func(alg string, signed, signature []byte) bool {
		hash, sum := digestSigned(alg, signed)
		if alg[0] == 'P' { // PS256, PS384 and PS512 are RSASSA-PSS
			return rsa.VerifyPSS(pub, hash, sum, signature,
				&rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}) == nil
		}
		return rsa.VerifyPKCS1v15(pub, hash, sum, signature) == nil
	}
}
