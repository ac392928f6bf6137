package token

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"
)

var (
	// ErrNoKey means that no key may sign at this time.
	ErrNoKey = errors.New("no signing key for this time")
	// ErrStale means that the ring is too old to know which key signs now.
	ErrStale = errors.New("signing keys were read too long ago")
)

// Ring is an immutable snapshot of the key table with unsealed keys. It picks the signing key by the times in the rows
// alone (see signingKey), so replicas agree without communication. Safe for concurrent use.
type Ring struct {
	keys     []ringKey // oldest SignFrom first
	loadedAt time.Time
	maxStale time.Duration
}

type ringKey struct {
	key           Key
	private       ed25519.PrivateKey
	encodedHeader string // encoded, including the dot after it
	publicJWK     []byte
}

// NewRing unseals every key that is not tainted, including keys that are only published. An attacker who can write to
// the key table but has no key-encryption key can therefore not make verifiers trust a planted key. A key that cannot
// be unsealed is an error (ErrSealed) and is not skipped; an operator can taint it. loadedAt is the time at which the
// keys were read, and maxStale (above zero) is the age from which Sign fails.
func NewRing(keys []Key, sealer *Sealer, loadedAt time.Time, maxStale time.Duration) (*Ring, error) {
	if maxStale <= 0 {
		return nil, fmt.Errorf("key ring: maxStale must be above zero, not %s", maxStale)
	}
	r := &Ring{loadedAt: loadedAt, maxStale: maxStale}
	seen := make(map[string]bool, len(keys))
	for _, key := range keys {
		if seen[key.Material.KID] {
			return nil, fmt.Errorf("key ring: kid %q occurs twice", key.Material.KID)
		}
		seen[key.Material.KID] = true
		if key.Tainted {
			continue
		}
		opened, err := openKey(key, sealer)
		if err != nil {
			return nil, fmt.Errorf("key ring: %w", err)
		}
		r.keys = append(r.keys, opened)
	}
	slices.SortFunc(r.keys, func(a, b ringKey) int {
		return cmp.Or(a.key.SignFrom.Compare(b.key.SignFrom), cmp.Compare(a.key.Material.KID, b.key.Material.KID))
	})
	return r, nil
}

func openKey(key Key, sealer *Sealer) (ringKey, error) {
	private, err := sealer.Open(key.Material)
	if err != nil {
		return ringKey{}, err
	}
	public, err := publicJWK(private, key.Material.KID, key.Material.Alg)
	if err != nil {
		return ringKey{}, err
	}
	header := fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"JWT"}`, key.Material.Alg, key.Material.KID)
	return ringKey{key: key, private: private, publicJWK: public,
		encodedHeader: b64.EncodeToString([]byte(header)) + "."}, nil
}

// LoadedAt returns the time at which the keys were read.
func (r *Ring) LoadedAt() time.Time { return r.loadedAt }

// Signer returns the kid of the key that signs a token issued at now, for readiness and metrics. Errors: ErrStale,
// ErrNoKey.
func (r *Ring) Signer(now time.Time) (kid string, err error) {
	key, err := r.signingKey(now, now)
	if err != nil {
		return "", err
	}
	return key.key.Material.KID, nil
}

// signingKey decides which key signs: the one with the latest SignFrom that is not after issued, if issued is before
// its SignUntil. now is compared with the age of the ring only.
func (r *Ring) signingKey(now, issued time.Time) (*ringKey, error) {
	if now.Sub(r.loadedAt) > r.maxStale {
		return nil, ErrStale
	}
	for i := len(r.keys) - 1; i >= 0; i-- {
		if k := &r.keys[i]; !issued.Before(k.key.SignFrom) && issued.Before(k.key.SignUntil) {
			return k, nil
		}
	}
	return nil, ErrNoKey
}

// Sign makes the session token of c with the key that signs at c.IssuedAt; now is compared with the age of the ring
// only. Errors: ErrStale, ErrNoKey, or an Invalid for claims that SessionVerifier would refuse at any time.
func (r *Ring) Sign(now time.Time, c SessionClaims) (string, error) {
	key, err := r.signingKey(now, c.IssuedAt)
	if err != nil {
		return "", err
	}
	payload, err := c.encodeJSON()
	if err != nil {
		return "", err
	}
	size := len(key.encodedHeader) + b64.EncodedLen(len(payload)) + 1 + b64.EncodedLen(ed25519.SignatureSize)
	if size > MaxTokenBytes {
		return "", TooLarge
	}
	token := append(make([]byte, 0, size), key.encodedHeader...)
	token = b64.AppendEncode(token, payload)
	signature := ed25519.Sign(key.private, token)
	token = append(token, '.')
	return string(b64.AppendEncode(token, signature)), nil
}

// JWKS returns the JWK Set to publish at now (the next key, the current one and the retiring ones, never a tainted one)
// and its strong entity tag, quoted for the ETag header. The age of the ring does not matter: while the database is
// unavailable, its keys can still verify tokens.
func (r *Ring) JWKS(now time.Time) (document []byte, etag string) {
	var published [][]byte
	for _, k := range r.publishedKeys(now) {
		published = append(published, k.publicJWK)
	}
	document = append([]byte(`{"keys":[`), bytes.Join(published, []byte(","))...)
	document = append(document, "]}"...)
	return document, entityTag(document)
}

// publishedKeys returns the keys that verifiers know at now: the next one, the signing one and retiring ones.
func (r *Ring) publishedKeys(now time.Time) (keys []ringKey) {
	for _, k := range r.keys {
		if !now.Before(k.key.PublishAt) && now.Before(k.key.VerifyUntil) {
			keys = append(keys, k)
		}
	}
	return keys
}

func entityTag(document []byte) string {
	sum := sha256.Sum256(document)
	return `"` + b64.EncodeToString(sum[:16]) + `"`
}
