package token

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// DefaultAccessSkew is the allowed difference between the clocks of the identity provider and of the database.
const DefaultAccessSkew = 30 * time.Second

// AccessConfig configures which access tokens are accepted. Keys is required; every other zero value is usable.
type AccessConfig struct {
	Keys      *KeySource       // the identity provider's keys; required
	Issuer    string           // required iss; empty accepts any
	Audience  string           // required in aud; empty accepts any
	Algs      []string         // allow-list of EdDSA, Ed25519, ES256 and RS256; nil means all but Ed25519
	Skew      time.Duration    // 0 means DefaultAccessSkew, below 0 none
	Now       func() time.Time // the clock for exp, nbf and iat; nil means time.Now
	CacheSize int              // number of cached tokens; 0 means 16,384 (about 5 MB when full), below 0 none
}

// AccessClaims holds the verified claims of a player's access token.
type AccessClaims struct {
	Subject string    // sub; see ValidSubject
	Issuer  string    // iss; empty if the token has none
	Expires time.Time // exp
}

// AccessVerifier verifies players' access tokens. Safe for concurrent use.
//
// It caches tokens with a valid signature, because players send the same token with every call. The times of a cached
// token are still checked, and a change of the key set invalidates the cache.
type AccessVerifier struct {
	cfg         AccessConfig
	tokenPolicy policy
	entryCache  accessCache
}

// NewAccessVerifier makes a verifier. Errors: no keys, an alg that AccessConfig.Algs does not allow.
func NewAccessVerifier(cfg AccessConfig) (*AccessVerifier, error) {
	if cfg.Keys == nil {
		return nil, errors.New("access tokens: no key source")
	}
	byDefault := []string{AlgEdDSA, AlgES256, AlgRS256}
	known := append(slices.Clone(byDefault), AlgEd25519)
	for _, alg := range cfg.Algs {
		if !slices.Contains(known, alg) {
			return nil, fmt.Errorf("access tokens: alg %q is none of %s", alg, strings.Join(known, ", "))
		}
	}
	if cfg.Algs == nil {
		cfg.Algs = byDefault
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.CacheSize == 0 {
		cfg.CacheSize = 1 << 14
	}
	cfg.Skew = skewOr(cfg.Skew, DefaultAccessSkew)
	return &AccessVerifier{cfg: cfg, tokenPolicy: policy{allowedAlgs: cfg.Algs},
		entryCache: newAccessCache(cfg.CacheSize)}, nil
}

// Verify returns the claims of a valid token. The error is an Invalid, or ErrKeysUnavailable. Verify waits for the key
// set under the same conditions as SessionVerifier.Verify.
func (v *AccessVerifier) Verify(ctx context.Context, raw string) (AccessClaims, error) {
	if len(raw) > MaxTokenBytes {
		return AccessClaims{}, TooLarge
	}
	keys, err := v.cfg.Keys.Keys(ctx)
	if err != nil {
		return AccessClaims{}, err
	}
	sum := sha256.Sum256([]byte(raw))
	if cached := v.entryCache.getEntry(sum, keys); cached != nil {
		return cached.claimsAt(v.cfg.Now(), v.cfg.Skew)
	}
	entry, err := v.verifyToken(ctx, raw)
	if err != nil {
		return AccessClaims{}, err
	}
	entry.tokenSum = sum
	v.entryCache.putEntry(entry)
	return entry.claims, nil
}

func (v *AccessVerifier) verifyToken(ctx context.Context, raw string) (*accessEntry, error) {
	payload, keys, err := v.tokenPolicy.verifiedPayload(ctx, raw, v.cfg.Keys)
	if err != nil {
		return nil, err
	}
	var r registered
	if err := readObject(payload, r.memberReader); err != nil {
		return nil, err
	}
	if err := r.checkClaims(v.cfg.Now(), v.cfg.Skew, v.cfg.Issuer, v.cfg.Audience); err != nil {
		return nil, err
	}
	claims := AccessClaims{
		Subject: strings.Clone(r.subject.stringValue), // A substring would keep the whole payload in memory.
		Issuer:  strings.Clone(r.issuer.stringValue),
		Expires: r.timeClaims.expiry.asTime(),
	}
	return &accessEntry{verifiedBy: keys, claims: claims, timeClaims: r.timeClaims}, nil
}
