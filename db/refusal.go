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
	fault.Refusal // the latest

	Times    int
	FirstAge time.Duration // how long ago the first was
	LastAge  time.Duration // how long ago the latest was
}

// RecordRefusals adds refusals to ops.refusals, in one statement. No two of them may have the same player, call and
// code. Texts must be valid UTF-8 without NUL. Errors: Unavailable; all or none of them were added then.
func (s *Store) RecordRefusals(ctx context.Context, all []Refusals) error {
	var p query.RecordRefusalsParams
	for _, r := range all {
		p.Subs, p.Calls, p.Codes = append(p.Subs, r.Player), append(p.Calls, r.Call), append(p.Codes, r.Code)
		p.Regions, p.Modes = append(p.Regions, r.Region), append(p.Modes, r.Mode)
		p.Details, p.RequestIds = append(p.Details, r.Detail), append(p.RequestIds, r.RequestID)
		p.Times = append(p.Times, int64(r.Times))
		p.FirstAges, p.LastAges = append(p.FirstAges, r.FirstAge), append(p.LastAges, r.LastAge)
	}
	return frame.Classify(s.q.RecordRefusals(ctx, p))
}
