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
	// ErrStale means that the ring is too old to be trusted with the question which key signs now.
	ErrStale = errors.New("signing keys were read too long ago")
)

// Ring is an immutable snapshot of the key table, opened. It switches from key to key by their times alone, so
// replicas agree without talking. Safe for concurrent use.
type Ring struct {
	keys     []ringKey // oldest SignFrom first
	loadedAt time.Time
	maxStale time.Duration
}

type ringKey struct {
	Key
	private ed25519.PrivateKey
	header  string // encoded, with the dot after it
	jwk     []byte
}

// NewRing opens every key that is not tainted, the merely published ones too: what this ring publishes was sealed by us,
// so that whoever can write to the key table, without a key-encryption key, cannot make verifiers trust a key of theirs. A key
// that does not open is therefore an error (ErrSealed) rather than left out; to go on without it, taint it.
// loadedAt is when keys were read, maxStale (above zero) for how long Sign believes them.
func NewRing(keys []Key, sealer *Sealer, loadedAt time.Time, maxStale time.Duration) (*Ring, error) {
	if maxStale <= 0 {
		return nil, fmt.Errorf("key ring: maxStale must be above zero, not %s", maxStale)
	}
	r := &Ring{loadedAt: loadedAt, maxStale: maxStale}
	seen := make(map[string]bool, len(keys))
	for _, key := range keys {
		if seen[key.KID] {
			return nil, fmt.Errorf("key ring: kid %q comes twice", key.KID)
		}
		seen[key.KID] = true
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
		return cmp.Or(a.SignFrom.Compare(b.SignFrom), cmp.Compare(a.KID, b.KID))
	})
	return r, nil
}

func openKey(key Key, sealer *Sealer) (ringKey, error) {
	private, err := sealer.Open(key.Material)
	if err != nil {
		return ringKey{}, err
	}
	public, err := publicJWK(private, key.KID, key.Alg)
	if err != nil {
		return ringKey{}, err
	}
	header := fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"JWT"}`, key.Alg, key.KID)
	return ringKey{Key: key, private: private, jwk: public, header: b64.EncodeToString([]byte(header)) + "."}, nil
}

// LoadedAt is when the keys were read.
func (r *Ring) LoadedAt() time.Time { return r.loadedAt }

// Signer names the key that signs a token issued at now, for readiness and metrics. ErrStale, ErrNoKey.
func (r *Ring) Signer(now time.Time) (kid string, err error) {
	key, err := r.signer(now, now)
	if err != nil {
		return "", err
	}
	return key.KID, nil
}

// signer takes the youngest key whose time has come.
func (r *Ring) signer(now, issued time.Time) (*ringKey, error) {
	if now.Sub(r.loadedAt) > r.maxStale {
		return nil, ErrStale
	}
	for i := len(r.keys) - 1; i >= 0; i-- {
		if k := &r.keys[i]; !issued.Before(k.SignFrom) && issued.Before(k.SignUntil) {
			return k, nil
		}
	}
	return nil, ErrNoKey
}

// Sign makes the session token of c with the key whose time c.IssuedAt falls in; now is compared with the ring's age
// only. ErrStale, ErrNoKey, or an Invalid where SessionVerifier would refuse such claims at any time.
func (r *Ring) Sign(now time.Time, c SessionClaims) (string, error) {
	key, err := r.signer(now, c.IssuedAt)
	if err != nil {
		return "", err
	}
	payload, err := c.encode()
	if err != nil {
		return "", err
	}
	size := len(key.header) + b64.EncodedLen(len(payload)) + 1 + b64.EncodedLen(ed25519.SignatureSize)
	if size > MaxTokenBytes {
		return "", TooLarge
	}
	token := append(make([]byte, 0, size), key.header...)
	token = b64.AppendEncode(token, payload)
	signature := ed25519.Sign(key.private, token)
	token = append(token, '.')
	return string(b64.AppendEncode(token, signature)), nil
}

// JWKS is the JWK Set to publish at now (the next key, the current one and the retiring ones, never a tainted one)
// and its strong entity tag, quoted as the ETag header wants it. It is answered however old the ring is: the keys it
// knows stay good to verify with while the database is away.
func (r *Ring) JWKS(now time.Time) (document []byte, etag string) {
	var published [][]byte
	for _, k := range r.keys {
		if !now.Before(k.PublishAt) && now.Before(k.VerifyUntil) {
			published = append(published, k.jwk)
		}
	}
	document = append([]byte(`{"keys":[`), bytes.Join(published, []byte(","))...)
	document = append(document, "]}"...)
	sum := sha256.Sum256(document)
	return document, `"` + b64.EncodeToString(sum[:16]) + `"`
}
