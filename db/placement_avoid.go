package db

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// avoidance says which sessions the players of a batch may not join, since somebody is there whom they avoid or who
// avoids them, as backends have stored it.
type avoidance struct {
	queryParams query.AvoidedAroundParams
	avoidedRows []query.AvoidedAroundRow // none where no player has a list or is on one
}

func (s *Store) newAvoidance(region string, calls []*placeCall) *avoidance {
	a := &avoidance{queryParams: query.AvoidedAroundParams{Region: region, Universe: s.cfg.Universe}}
	for _, c := range calls {
		a.queryParams.Subs = append(a.queryParams.Subs, c.Req.Party...)
	}
	return a
}

// queue reads in a pipeline. What it reads holds for sessions that are locked before it.
func (a *avoidance) queue(out *tx.Pipeline) {
	query.Queue(out, &a.avoidedRows, (*query.Queries).AvoidedAround, a.queryParams)
}

// readAgain reads what holds for sessions that were locked since. It costs nothing where nobody avoids anybody.
func (a *avoidance) readAgain(ctx context.Context, q *query.Queries) (err error) {
	if len(a.avoidedRows) > 0 {
		a.avoidedRows, err = q.AvoidedAround(ctx, a.queryParams)
	}
	return err
}

// separate returns the requests without those about players who may not meet those of an older request: they stay for
// the next batch, which finds the older one seated.
func (a *avoidance) separate(requests []*request) []*request {
	if len(a.avoidedRows) == 0 {
		return requests
	}
	var kept []*request
	taken := map[string]bool{}
	for _, r := range requests {
		decided := r.verdict.knownPlacement != nil || r.verdict.err != nil
		if !decided && slices.ContainsFunc(a.avoidedRows, func(row query.AvoidedAroundRow) bool {
			return taken[row.Other] && slices.Contains(r.placeRequest.Party, row.Sub) &&
				!slices.Contains(r.placeRequest.Party, row.Other)
		}) {
			continue
		}
		for _, sub := range r.placeRequest.Party {
			// Players of a decided request have their seats already, and the rows were read with these.
			taken[sub] = taken[sub] || !decided
		}
		kept = append(kept, r)
	}
	return kept
}

// exclude adds the sessions that requests may not join. Members of a party are together by their own will.
func (a *avoidance) exclude(requests []*request) {
	for _, row := range a.avoidedRows {
		if row.SessionID == uuid.Nil {
			continue
		}
		for _, r := range requests {
			if slices.Contains(r.placeRequest.Party, row.Sub) && !slices.Contains(r.placeRequest.Party, row.Other) &&
				!slices.Contains(r.verdict.excludedSessions, row.SessionID) {
				r.verdict.excludedSessions = append(r.verdict.excludedSessions, row.SessionID)
			}
		}
	}
}
