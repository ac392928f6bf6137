package sdk

import (
	"crypto/rand"
	"sync"
	"time"
)

// spentSkew is how long a token is remembered past its expiry, because verification allows for clock skew.
const spentSkew = time.Minute

// spentTokens remembers the tokens that players have presented to this process, with a connection name for each. A
// token whose redemption failed with an unknown outcome keeps its connection name: the director may have applied the
// report, and recognises the next one by that name as a retry.
type spentTokens struct {
	mu      sync.Mutex
	tokens  map[string]spentToken // by jti
	sweepAt int                   // len(tokens) at which expired ones are deleted: twice what the last sweep left
}

type spentToken struct {
	expiry     time.Time
	connection string
	usable     bool // after restore, until it is spent again
}

func newSpentTokens() *spentTokens {
	return &spentTokens{tokens: map[string]spentToken{}, sweepAt: 1024}
}

// spend marks the token as used and returns the name of the connection that redeems it. ok is false if the token was
// used before.
func (s *spentTokens) spend(jti string, expires, now time.Time) (connection string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.tokens[jti]
	if known && !t.usable {
		return "", false
	}
	if !known {
		if len(s.tokens) >= s.sweepAt {
			s.sweep(now)
		}
		t = spentToken{expiry: expires.Add(spentSkew), connection: rand.Text()}
	}
	t.usable = false
	s.tokens[jti] = t
	return t.connection, true
}

// restore makes a token usable again after a redemption whose outcome is unknown.
func (s *spentTokens) restore(jti string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, known := s.tokens[jti]; known {
		t.usable = true
		s.tokens[jti] = t
	}
}

func (s *spentTokens) sweep(now time.Time) {
	for jti, t := range s.tokens {
		if now.After(t.expiry) {
			delete(s.tokens, jti)
		}
	}
	s.sweepAt = max(1024, 2*len(s.tokens))
}
