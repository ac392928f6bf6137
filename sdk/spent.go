package sdk

import (
	"crypto/rand"
	"sync"
	"time"
)

// spentSkew is how long a token is remembered past its expiry, because verification allows for clock skew.
const spentSkew = time.Minute

// leastSwept is the number of tokens below which expired ones stay: they are too few to be worth a look at all of them.
const leastSwept = 1024

// spentTokens remembers the tokens that players have presented to this process, with a connection name for each. A
// token whose redemption failed with an unknown outcome keeps its connection name: the director may have applied the
// report, and recognises the next report by that name as a retry.
type spentTokens struct {
	mu        sync.Mutex
	tokenByID map[string]spentToken // by jti
	sweepAt   int                   // len(tokenByID) at which expired ones are deleted: twice what the last sweep left
}

type spentToken struct {
	expiresAt      time.Time
	connectionName string
	isUsable       bool // after restoreToken, until it is spent again
}

func newSpentTokens() *spentTokens {
	return &spentTokens{tokenByID: map[string]spentToken{}, sweepAt: leastSwept}
}

// spendToken marks the token as used and returns the name of the connection that redeems it. ok is false if the token
// was used before.
func (s *spentTokens) spendToken(jti string, expires, now time.Time) (connection string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.tokenByID[jti]
	if known && !t.isUsable {
		return "", false
	}
	if !known {
		if len(s.tokenByID) >= s.sweepAt {
			s.sweepExpired(now)
		}
		t = spentToken{expiresAt: expires.Add(spentSkew), connectionName: rand.Text()}
	}
	t.isUsable = false
	s.tokenByID[jti] = t
	return t.connectionName, true
}

// restoreToken makes a token usable again after a redemption whose outcome is unknown.
func (s *spentTokens) restoreToken(jti string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, known := s.tokenByID[jti]; known {
		t.isUsable = true
		s.tokenByID[jti] = t
	}
}

func (s *spentTokens) sweepExpired(now time.Time) {
	for jti, t := range s.tokenByID {
		if now.After(t.expiresAt) {
			delete(s.tokenByID, jti)
		}
	}
	s.sweepAt = max(leastSwept, 2*len(s.tokenByID))
}
