package token

import (
	"context"
	"time"
)

// DefaultSessionSkew is the allowed difference between the clocks of a game server and of the database.
const DefaultSessionSkew = 5 * time.Second

// sessionPolicy allows both names of the one algorithm that Ring signs with.
var sessionPolicy = policy{allowedAlgs: []string{AlgEdDSA, AlgEd25519}, needKID: true}

// SessionVerifier verifies session tokens on a game server that admits players. Safe for concurrent use.
type SessionVerifier struct {
	keys *KeySource
	skew time.Duration
}

// NewSessionVerifier makes a verifier with the director's published keys. A skew of 0 means DefaultSessionSkew, below 0
// none.
func NewSessionVerifier(keys *KeySource, skew time.Duration) *SessionVerifier {
	return &SessionVerifier{keys: keys, skew: skewOr(skew, DefaultSessionSkew)}
}

// Verify returns the claims of a session token that is valid at now. It does not check that the token is for this game
// server: the caller compares SessionID and Endpoint with its own, and reports ID to the director so that each token is
// redeemed once. The error is an Invalid, or ErrKeysUnavailable. Verify waits for the key set only if there is none
// yet, it is too old, or the token has an unknown kid; ctx bounds the wait.
func (v *SessionVerifier) Verify(ctx context.Context, raw string, now time.Time) (SessionClaims, error) {
	payload, _, err := sessionPolicy.verifiedPayload(ctx, raw, v.keys)
	if err != nil {
		return SessionClaims{}, err
	}
	var m sessionMembers
	if err := readObject(payload, m.memberReader); err != nil {
		return SessionClaims{}, err
	}
	if err := m.registered.checkClaims(now, v.skew, Issuer, Audience); err != nil {
		return SessionClaims{}, err
	}
	if !m.registered.timeClaims.issuedAt.isSet {
		return SessionClaims{}, MissingClaim
	}
	claims := m.asClaims()
	if err := claims.checkContents(); err != nil {
		return SessionClaims{}, err
	}
	return claims, nil
}

// skewOr returns the skew, or byDefault if it is 0. A negative skew means none.
func skewOr(skew, byDefault time.Duration) time.Duration {
	if skew == 0 {
		return byDefault
	}
	return max(skew, 0)
}
