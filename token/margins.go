package token

import "time"

// Margins are the delays on the way from the key table to a game server, out of which follow the two waits that make a
// rotation invisible. All of them count in full: each can happen at its longest.
type Margins struct {
	MaxAge   time.Duration // max-age of the published JWKS
	Refresh  time.Duration // longest age of a ring that the JWKS is served from while other replicas may be rotating
	TokenTTL time.Duration // lifetime of a session token
	MaxStale time.Duration // age at which a ring stops signing; above Lead, it would run out of keys first
	Skew     time.Duration // of any two clocks
}

// Lead is how long a key must be published before it may sign: a replica that read the table just before publishes the
// old set for Refresh more, and a verifier that asks at the end of that keeps it for MaxAge.
func (m Margins) Lead() time.Duration { return m.MaxAge + m.Refresh + m.Skew }

// Overlap is how long a key must stay published after it may no longer sign: a replica that has not seen the end of
// its turn signs for MaxStale more, and that token lives for TokenTTL.
func (m Margins) Overlap() time.Duration { return m.TokenTTL + m.MaxStale + m.Skew }
