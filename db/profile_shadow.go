package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// ShadowMatches are matches of which some were decided by the live version of a profile, and the others by its shadow.
type ShadowMatches struct {
	Profile                    string
	LiveVersion, ShadowVersion int
	Sides                      []string // of each match: "live" or "shadow"
	DecidedAt                  []time.Time
	Measures                   []string // of each match: a JSON object of numbers
}

// shadowKept is how many matches of a side a comparison keeps; older ones are deleted.
const shadowKept = 10_000

// RecordShadow adds matches to the comparison of a profile's shadow. It does nothing if the profile now has other
// versions. Errors: Unavailable.
func (s *Store) RecordShadow(ctx context.Context, region string, m ShadowMatches) error {
	return frame.Classify(s.q.RecordShadow(ctx, query.RecordShadowParams{
		Region: region, Profile: m.Profile, Live: int32(m.LiveVersion), Shadow: int32(m.ShadowVersion), Keep: shadowKept,
		Sides: m.Sides, DecidedAt: m.DecidedAt, Measures: m.Measures,
	}))
}
