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
	arg  query.AvoidedAroundParams
	rows []query.AvoidedAroundRow // none where no player has a list or is on one
}

func (s *Store) newAvoidance(region string, calls []*placeCall) *avoidance {
	a := &avoidance{arg: query.AvoidedAroundParams{Region: region, Universe: s.cfg.Universe}}
	for _, c := range calls {
		a.arg.Subs = append(a.arg.Subs, c.Req.Party...)
	}
	return a
}

// queue reads in a pipeline. What it reads holds for sessions that are locked before it.
func (a *avoidance) queue(out *tx.Pipeline) {
	query.Queue(out, &a.rows, (*query.Queries).AvoidedAround, a.arg)
}

// readAgain reads what holds for sessions that were locked since. It costs nothing where nobody avoids anybody.
func (a *avoidance) readAgain(ctx context.Context, q *query.Queries) (err error) {
	if len(a.rows) > 0 {
		a.rows, err = q.AvoidedAround(ctx, a.arg)
	}
	return err
}

// separate returns the requests without those about players who may not meet those of an older request: they stay for
// the next batch, which finds the older one seated.
func (a *avoidance) separate(requests []*request) []*request {
	if len(a.rows) == 0 {
		return requests
	}
	var kept []*request
	taken := map[string]bool{}
	for _, r := range requests {
		decided := r.verdict.answer != nil || r.verdict.err != nil
		if !decided && slices.ContainsFunc(a.rows, func(row query.AvoidedAroundRow) bool {
			return taken[row.Other] && slices.Contains(r.req.Party, row.Sub) && !slices.Contains(r.req.Party, row.Other)
		}) {
			continue
		}
		for _, sub := range r.req.Party {
			// Players of a decided request have their seats already, and the rows were read with these.
			taken[sub] = taken[sub] || !decided
		}
		kept = append(kept, r)
	}
	return kept
}

// exclude adds the sessions that requests may not join. Members of a party are together by their own will.
func (a *avoidance) exclude(requests []*request) {
	for _, row := range a.rows {
		if row.SessionID == uuid.Nil {
			continue
		}
		for _, r := range requests {
			if slices.Contains(r.req.Party, row.Sub) && !slices.Contains(r.req.Party, row.Other) &&
				!slices.Contains(r.verdict.excluded, row.SessionID) {
				r.verdict.excluded = append(r.verdict.excluded, row.SessionID)
			}
		}
	}
}
