package sdk

import (
	"sync"
	"time"
)

// spentSkew is how long past its expiry a token may still verify, and so must be remembered.
const spentSkew = time.Minute

// spentTokens remembers the tokens that were shown here. The director answers a second report of a connected player's
// token with "ok", because it may be a retry; only the game server can tell that it came over a second connection.
type spentTokens struct {
	mu      sync.Mutex
	expiry  map[string]time.Time
	sweepAt int // size at which the expired are swept out, twice what the last sweep left
}

func newSpentTokens() *spentTokens {
	return &spentTokens{expiry: map[string]time.Time{}, sweepAt: 1024}
}

// spend says whether the token is new.
func (s *spentTokens) spend(jti string, expires, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.expiry[jti]; known {
		return false
	}
	if len(s.expiry) >= s.sweepAt {
		s.sweep(now)
	}
	s.expiry[jti] = expires.Add(spentSkew)
	return true
}

// restore makes a token good again whose redemption came to nothing.
func (s *spentTokens) restore(jti string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.expiry, jti)
}

func (s *spentTokens) sweep(now time.Time) {
	for jti, expiry := range s.expiry {
		if now.After(expiry) {
			delete(s.expiry, jti)
		}
	}
	s.sweepAt = max(1024, 2*len(s.expiry))
}
