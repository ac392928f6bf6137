package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// Refusals are the refusals of one player by one call with one code.
type Refusals struct {
	Latest   fault.Refusal
	Times    int           // how many refusals there were
	FirstAge time.Duration // how long ago the first was
	LastAge  time.Duration // how long ago Latest was
}

// RecordRefusals adds refusals to ops.refusals, in one statement. No two of them may have the same player, call and
// code. Texts must be valid UTF-8 without NUL. Errors: Unavailable; all or none of them were added then.
func (s *Store) RecordRefusals(ctx context.Context, all []Refusals) error {
	var p query.RecordRefusalsParams
	for _, r := range all {
		p.Subs = append(p.Subs, r.Latest.Player)
		p.Calls = append(p.Calls, r.Latest.Call)
		p.Codes = append(p.Codes, r.Latest.Code)
		p.Regions = append(p.Regions, r.Latest.Region)
		p.Modes = append(p.Modes, r.Latest.Mode)
		p.Details = append(p.Details, r.Latest.Detail)
		p.RequestIds = append(p.RequestIds, r.Latest.RequestID)
		p.Times = append(p.Times, int64(r.Times))
		p.FirstAges = append(p.FirstAges, r.FirstAge)
		p.LastAges = append(p.LastAges, r.LastAge)
	}
	return frame.Classify(s.q.RecordRefusals(ctx, p))
}
