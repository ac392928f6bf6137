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

// queue adds the reading of the rows to a pipeline. They are right for sessions that the transaction has locked before.
func (a *avoidance) queue(out *tx.Pipeline) {
	query.Queue(out, &a.avoidedRows, (*query.Queries).AvoidedAround, a.queryParams)
}

// readAgain reads the rows anew, so that they are right for sessions that were locked since. It reads nothing where
// nobody avoids anybody.
func (a *avoidance) readAgain(ctx context.Context, q *query.Queries) (err error) {
	if len(a.avoidedRows) > 0 {
		a.avoidedRows, err = q.AvoidedAround(ctx, a.queryParams)
	}
	return err
}

// separate returns the requests without those about players who may not meet the players of an older request. Such a
// request stays for the next batch, which finds the players of the older one seated.
func (a *avoidance) separate(requests []*request) []*request {
	if len(a.avoidedRows) == 0 {
		return requests
	}
	var kept []*request
	taken := map[string]bool{} // players of the kept requests that are to be seated
	for _, r := range requests {
		// The players of a decided request have their seats already, which the rows of others name.
		if r.verdict.isDecided() {
			kept = append(kept, r)
			continue
		}
		if slices.ContainsFunc(a.avoidedRows, func(row query.AvoidedAroundRow) bool {
			return taken[row.Other] && r.mayNotMeet(row)
		}) {
			continue
		}
		for _, sub := range r.placeRequest.Party {
			taken[sub] = true
		}
		kept = append(kept, r)
	}
	return kept
}

// mayNotMeet reports whether a row keeps the party of a request away from another player. Members of a party are
// together by their own will.
func (r *request) mayNotMeet(row query.AvoidedAroundRow) bool {
	return slices.Contains(r.placeRequest.Party, row.Sub) && !slices.Contains(r.placeRequest.Party, row.Other)
}

// exclude adds to the verdicts of requests the sessions that they may not join.
func (a *avoidance) exclude(requests []*request) {
	for _, row := range a.avoidedRows {
		// The other player has no seat.
		if row.SessionID == uuid.Nil {
			continue
		}
		for _, r := range requests {
			if r.mayNotMeet(row) && !slices.Contains(r.verdict.excludedSessions, row.SessionID) {
				r.verdict.excludedSessions = append(r.verdict.excludedSessions, row.SessionID)
			}
		}
	}
}
