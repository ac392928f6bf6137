package sdk

import (
	"crypto/rand"
	"sync"
	"time"
)

// spentSkew is how long past its expiry a token may still verify, and so must be remembered.
const spentSkew = time.Minute

// spentTokens remembers the tokens that were shown here, and names the connection that each was shown on. A token whose
// redemption came to nothing keeps the name, so that the director takes the next attempt for a retry of a report that it
// may have carried out already.
type spentTokens struct {
	mu      sync.Mutex
	tokens  map[string]spentToken // by jti
	sweepAt int                   // size at which the expired are swept out, twice what the last sweep left
}

type spentToken struct {
	expiry     time.Time
	connection string
	good       bool // restored
}

func newSpentTokens() *spentTokens {
	return &spentTokens{tokens: map[string]spentToken{}, sweepAt: 1024}
}

// spend names the connection that redeems the token, or says that the token was spent before.
func (s *spentTokens) spend(jti string, expires, now time.Time) (connection string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.tokens[jti]
	if known && !t.good {
		return "", false
	}
	if !known {
		if len(s.tokens) >= s.sweepAt {
			s.sweep(now)
		}
		t = spentToken{expiry: expires.Add(spentSkew), connection: rand.Text()}
	}
	t.good = false
	s.tokens[jti] = t
	return t.connection, true
}

// restore makes a token good again whose redemption came to nothing.
func (s *spentTokens) restore(jti string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, known := s.tokens[jti]; known {
		t.good = true
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
