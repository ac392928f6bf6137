package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/query"
)

// Refusal is why a request of a player was refused, as ops.refusals shows it.
type Refusal struct {
	Player    string // the sub of the access token
	Call      string // as in "POST /matchmake"
	Code      string // of the answer
	Region    string // that the request named; "": none
	Mode      string // that the request named; "": none
	Detail    string // what the answer said
	RequestID string // "": the call has none
}

// Refusals are the refusals of one player by one call with one code.
type Refusals struct {
	Refusal // the latest

	Times    int
	FirstAge time.Duration // how long ago the first was
	LastAge  time.Duration // how long ago the latest was
}

// RecordRefusals adds refusals to ops.refusals, in one statement. No two of them may have the same player, call and code. Texts must be valid
// UTF-8 without NUL. Errors: Unavailable; all or none of them were added then.
func (s *Store) RecordRefusals(ctx context.Context, all []Refusals) error {
	var p query.RecordRefusalsParams
	for _, r := range all {
		p.Subs, p.Calls, p.Codes = append(p.Subs, r.Player), append(p.Calls, r.Call), append(p.Codes, r.Code)
		p.Regions, p.Modes = append(p.Regions, r.Region), append(p.Modes, r.Mode)
		p.Details, p.RequestIds = append(p.Details, r.Detail), append(p.RequestIds, r.RequestID)
		p.Times = append(p.Times, int64(r.Times))
		p.FirstAges, p.LastAges = append(p.FirstAges, r.FirstAge), append(p.LastAges, r.LastAge)
	}
	return classify(s.q.RecordRefusals(ctx, p))
}
