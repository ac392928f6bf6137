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

// DefaultAccessSkew is how far the clocks of the identity provider and of the database may be apart.
const DefaultAccessSkew = 30 * time.Second

// AccessConfig says whose access tokens are believed. The zero value of everything but Keys is usable.
type AccessConfig struct {
	Keys      *KeySource       // the identity provider's keys; required
	Issuer    string           // iss must be this; empty asks for none
	Audience  string           // aud must hold this; empty asks for none
	Algs      []string         // allow-list; nil is EdDSA, ES256, RS256. Ed25519 may be named too, nothing else
	Skew      time.Duration    // zero is DefaultAccessSkew, below zero is none
	Now       func() time.Time // the clock tokens are judged by; nil is time.Now
	CacheSize int              // verified tokens remembered; zero is 16,384 (about 5 MB when full), below zero is none
}

// AccessClaims is what a player's access token says.
type AccessClaims struct {
	Subject string    // sub; see ValidSubject
	Issuer  string    // iss; empty where the token has none
	Expires time.Time // exp
}

// AccessVerifier judges players' access tokens. Safe for concurrent use.
//
// It remembers tokens it found genuine, because players send the same one with every call. A remembered token is
// still judged by the clock, and is forgotten as soon as the key set changes.
type AccessVerifier struct {
	cfg    AccessConfig
	policy policy
	cache  accessCache
}

// NewAccessVerifier refuses a configuration without keys and algorithms it cannot hold to public keys.
func NewAccessVerifier(cfg AccessConfig) (*AccessVerifier, error) {
	if cfg.Keys == nil {
		return nil, errors.New("access tokens: no key source")
	}
	known := []string{AlgEdDSA, AlgES256, AlgRS256, AlgEd25519}
	for _, alg := range cfg.Algs {
		if !slices.Contains(known, alg) {
			return nil, fmt.Errorf("access tokens: alg %q is none of %s", alg, strings.Join(known, ", "))
		}
	}
	if cfg.Algs == nil {
		cfg.Algs = known[:3]
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.CacheSize == 0 {
		cfg.CacheSize = 1 << 14
	}
	cfg.Skew = skewOr(cfg.Skew, DefaultAccessSkew)
	return &AccessVerifier{cfg: cfg, policy: policy{algs: cfg.Algs}, cache: newAccessCache(cfg.CacheSize)}, nil
}

// Verify answers whose token raw is. The error is an Invalid, or ErrKeysUnavailable. It waits for the key set as
// SessionVerifier.Verify does.
func (v *AccessVerifier) Verify(ctx context.Context, raw string) (AccessClaims, error) {
	if len(raw) > MaxTokenBytes {
		return AccessClaims{}, TooLarge
	}
	keys, err := v.cfg.Keys.Keys(ctx)
	if err != nil {
		return AccessClaims{}, err
	}
	sum := sha256.Sum256([]byte(raw))
	if known := v.cache.get(sum, keys); known != nil {
		return known.now(v.cfg.Now(), v.cfg.Skew)
	}
	fresh, err := v.judge(ctx, raw)
	if err != nil {
		return AccessClaims{}, err
	}
	fresh.sum = sum
	v.cache.put(fresh)
	return fresh.claims, nil
}

func (v *AccessVerifier) judge(ctx context.Context, raw string) (*accessEntry, error) {
	payload, keys, err := v.policy.verified(ctx, raw, v.cfg.Keys)
	if err != nil {
		return nil, err
	}
	var r registered
	if err := readObject(payload, r.member); err != nil {
		return nil, err
	}
	if err := r.check(v.cfg.Now(), v.cfg.Skew, v.cfg.Issuer, v.cfg.Audience); err != nil {
		return nil, err
	}
	claims := AccessClaims{
		Subject: strings.Clone(r.sub.value), // not the whole payload, which lives as long as a piece of it
		Issuer:  strings.Clone(r.iss.value),
		Expires: r.times.exp.time(),
	}
	return &accessEntry{keys: keys, claims: claims, times: r.times}, nil
}
