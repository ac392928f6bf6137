package cycle

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// batchWeight bounds the matches and tickets of one transaction, so that the first matches are out while others are
// decided.
const batchWeight = 4096

// accept makes final what the evaluator has accepted, and delivers it.
func (o *owner) accept(ctx context.Context) error {
	for {
		batch := o.evaluation.take(batchWeight, func(id string) int { return 1 + len(o.origins[id].Tickets) })
		if len(batch) == 0 {
			return nil
		}
		batch = slices.DeleteFunc(batch, func(id string) bool { return o.withdrawn(o.origins[id]) })
		if err := o.acceptBatch(ctx, batch); err != nil {
			return err
		}
	}
}

// withdrawn tells whether who proposed a match is gone.
func (o *owner) withdrawn(from *origin) bool {
	if from.call != nil {
		return from.call.isOver()
	}
	return !o.elsewhere[from.caller].Alive
}

func (o *owner) acceptBatch(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	matches := make([]db.AcceptedMatch, len(ids))
	for i, id := range ids {
		matches[i] = o.origins[id].acceptedMatch()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	final, err := o.Store.AcceptMatches(ctx, o.ref, matches, o.Backfill)
	if err != nil {
		return err
	}
	kept := map[*call][]verdict{}
	for i, f := range final {
		o.metrics.verdicts.WithLabelValues(f.Verdict.String()).Inc()
		if from := o.origins[ids[i]]; from.call != nil && f.Verdict == match.Kept {
			kept[from.call] = append(kept[from.call], verdict{from.index, f.Created})
		}
	}
	for c, all := range kept {
		c.tell(all)
	}
	return nil
}

func (o *origin) acceptedMatch() db.AcceptedMatch {
	return db.AcceptedMatch{ID: o.ID, Tickets: o.Tickets, Backfill: o.backfill(), Caller: o.caller, Seq: o.seq}
}
