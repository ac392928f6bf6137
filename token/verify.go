package token

import (
	"context"
	"time"
)

// DefaultSessionSkew is how far the clocks of a game server and of the database may be apart.
const DefaultSessionSkew = 5 * time.Second

// sessionPolicy admits the names of the one algorithm that Ring signs with.
var sessionPolicy = policy{algs: []string{AlgEdDSA, AlgEd25519}, needKID: true}

// SessionVerifier judges session tokens where a game server admits players. Safe for concurrent use.
type SessionVerifier struct {
	keys *KeySource
	skew time.Duration
}

// NewSessionVerifier takes the director's published keys. A skew of zero is DefaultSessionSkew, below zero is none.
func NewSessionVerifier(keys *KeySource, skew time.Duration) *SessionVerifier {
	return &SessionVerifier{keys: keys, skew: skewOr(skew, DefaultSessionSkew)}
}

// Verify answers what a genuine token of ours says at now. It does not know which game server asks: the caller
// compares SessionID and Endpoint with its own, and reports ID so that a token is redeemed once. The error is an Invalid, or
// ErrKeysUnavailable. It waits for the key set only where there is none yet, it is too old, or the token names a key that is
// not in it; ctx bounds the wait.
func (v *SessionVerifier) Verify(ctx context.Context, raw string, now time.Time) (SessionClaims, error) {
	payload, _, err := sessionPolicy.verified(ctx, raw, v.keys)
	if err != nil {
		return SessionClaims{}, err
	}
	var m sessionMembers
	if err := readObject(payload, m.member); err != nil {
		return SessionClaims{}, err
	}
	if err := m.check(now, v.skew, Issuer, Audience); err != nil {
		return SessionClaims{}, err
	}
	if !m.times.iat.set {
		return SessionClaims{}, MissingClaim
	}
	claims := m.claims()
	if err := claims.check(); err != nil {
		return SessionClaims{}, err
	}
	return claims, nil
}

func skewOr(skew, zero time.Duration) time.Duration {
	if skew == 0 {
		return zero
	}
	return max(skew, 0)
}
