package keyring

import (
	"cmp"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/token"
)

// Schedule is how signing keys take turns. Replicas and workers of one fleet must agree on it. The zero value is the
// default schedule.
type Schedule struct {
	Period   time.Duration // a key signs for so long; 0 means 24 h
	MaxAge   time.Duration // verifiers keep the key set for so long (max-age of the JWKS); 0 means 5 min
	Refresh  time.Duration // replicas read the keys so often; 0 means 5 s
	TokenTTL time.Duration // life of a session token; 0 means 2 min. The same as db.Timing.TokenTTL
	Skew     time.Duration // any two clocks are at most so far apart; 0 means 30 s
}

func (s Schedule) withDefaults() Schedule {
	s.Period = cmp.Or(s.Period, 24*time.Hour)
	s.MaxAge = cmp.Or(s.MaxAge, 5*time.Minute)
	s.Refresh = cmp.Or(s.Refresh, 5*time.Second)
	s.TokenTTL = cmp.Or(s.TokenTTL, 2*time.Minute)
	s.Skew = cmp.Or(s.Skew, 30*time.Second)
	return s
}

// Policy is what keys are made by under this schedule.
func (s Schedule) Policy() db.KeyPolicy {
	s = s.withDefaults()
	m := s.margins()
	return db.KeyPolicy{Period: s.Period, Lead: m.Lead(), Overlap: m.Overlap()}
}

// margins counts the refresh twice, because a reading takes some time itself. Keys older than the lead are not signed
// with: a key that nobody here has heard of may sign by then.
func (s Schedule) margins() token.Margins {
	m := token.Margins{MaxAge: s.MaxAge, Refresh: 2 * s.Refresh, TokenTTL: s.TokenTTL, Skew: s.Skew}
	m.MaxStale = m.Lead()
	return m
}
