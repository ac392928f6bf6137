package cycle

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// batchWeight bounds the matches and tickets of one transaction, so that the first matches are out while others are
// decided.
const batchWeight = 4096

// accept makes a batch of what the evaluator has accepted final, and delivers it. more tells whether there is another one.
func (o *owner) accept(ctx context.Context) (more bool, err error) {
	for _, id := range o.evaluation.take() {
		o.queued.add(o.origins[id])
	}
	batch := o.queued.next(batchWeight)
	batch = slices.DeleteFunc(batch, o.withdrawn)
	return o.queued.size > 0, o.acceptBatch(ctx, batch)
}

// outOfTime tells whether what was accepted has been made final for as long as it may since the evaluator ended. The
// matches that are left have their tickets free, and may be proposed in the next cycle.
func (o *owner) outOfTime(ctx context.Context) bool {
	if o.finalUntil.IsZero() {
		o.finalUntil = time.Now().Add(o.Acceptance)
	}
	if time.Now().Before(o.finalUntil) {
		return false
	}
	o.metrics.verdicts.WithLabelValues(outOfTime).Add(float64(o.queued.size))
	o.Log.LogAttrs(ctx, slog.LevelWarn, "a cycle has more matches than it may make final: the others are left to the next one",
		slog.String("cycle", o.ref.ID.String()), slog.Int("left", o.queued.size))
	return true
}

// withdrawn tells whether who proposed a match is gone.
func (o *owner) withdrawn(from *origin) bool {
	if from.call != nil {
		return from.call.isOver()
	}
	return !o.elsewhere[from.caller].Alive
}

func (o *owner) acceptBatch(ctx context.Context, batch []*origin) error {
	if len(batch) == 0 {
		return nil
	}
	matches := make([]db.AcceptedMatch, len(batch))
	for i, from := range batch {
		matches[i] = from.acceptedMatch()
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
		if from := batch[i]; from.call != nil && f.Verdict == match.Kept {
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
