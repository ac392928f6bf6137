package keyring

import (
	"cmp"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/token"
)

// Schedule configures the rotation of signing keys. All replicas and workers of a fleet must use the same one. The zero
// value is the default schedule.
type Schedule struct {
	KeyPeriod    time.Duration // how long a key signs; 0 means 24 h
	MaxAge       time.Duration // how long verifiers cache the key set (max-age of the JWKS); 0 means 5 min
	RefreshEvery time.Duration // interval in which replicas read the keys; 0 means 5 s
	TokenTTL     time.Duration // lifetime of a session token; must equal db.Timing.TokenTTL; 0 means 2 min
	ClockSkew    time.Duration // largest difference between any two clocks; 0 means 30 s
}

// DefaultSchedule is the schedule that the zero Schedule means.
func DefaultSchedule() Schedule {
	return Schedule{
		KeyPeriod: 24 * time.Hour, MaxAge: 5 * time.Minute, RefreshEvery: 5 * time.Second,
		TokenTTL: db.DefaultTiming().TokenTTL, ClockSkew: 30 * time.Second,
	}
}

func (s Schedule) withDefaults() Schedule {
	d := DefaultSchedule()
	s.KeyPeriod = cmp.Or(s.KeyPeriod, d.KeyPeriod)
	s.MaxAge = cmp.Or(s.MaxAge, d.MaxAge)
	s.RefreshEvery = cmp.Or(s.RefreshEvery, d.RefreshEvery)
	s.TokenTTL = cmp.Or(s.TokenTTL, d.TokenTTL)
	s.ClockSkew = cmp.Or(s.ClockSkew, d.ClockSkew)
	return s
}

// Policy returns the rules by which db plans the times of new keys.
func (s Schedule) Policy() db.KeyPolicy {
	s = s.withDefaults()
	m := s.tokenMargins()
	return db.KeyPolicy{Period: s.KeyPeriod, Lead: m.Lead(), Overlap: m.Overlap()}
}

// tokenMargins returns the margins of the schedule. The refresh interval counts twice, because a reading takes time too.
// A replica whose reading is older than the lead stops signing, because a key that it has not read may have taken over.
func (s Schedule) tokenMargins() token.Margins {
	m := token.Margins{MaxAge: s.MaxAge, Refresh: 2 * s.RefreshEvery, TokenTTL: s.TokenTTL, Skew: s.ClockSkew}
	m.MaxStale = m.Lead()
	return m
}
