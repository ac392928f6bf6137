package token

import "time"

// Margins holds the delays between the key table and a game server. Lead and Overlap follow from them; with both waits
// no verifier ever meets an unknown key. All delays are upper bounds.
type Margins struct {
	MaxAge   time.Duration // max-age of the published JWKS
	Refresh  time.Duration // longest age of the ring from which a replica serves the JWKS
	TokenTTL time.Duration // lifetime of a session token
	// age at which a ring stops signing; more than Lead has no effect, since the ring's keys end before
	MaxStale time.Duration
	Skew     time.Duration // difference between any two clocks
}

// Lead returns how long a key must be published before it may sign. A replica that read the table just before the key
// was added publishes the old set for Refresh, and a verifier that fetches it at the end of that time keeps it for
// MaxAge.
func (m Margins) Lead() time.Duration { return m.MaxAge + m.Refresh + m.Skew }

// Overlap returns how long a key must stay published after it may no longer sign. A replica that has not read the new
// end of its signing time signs with it for up to MaxStale, and such a token is valid for TokenTTL.
func (m Margins) Overlap() time.Duration { return m.TokenTTL + m.MaxStale + m.Skew }
