package cycle

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// batchWeight bounds the matches and tickets of one transaction, so that the first matches are delivered while others are
// committed.
const batchWeight = 4096

// commitBatch commits a batch of the matches that the evaluator has accepted, and delivers them. Here tickets become
// matched. more reports whether matches are left.
func (o *owner) commitBatch(ctx context.Context) (more bool, err error) {
	for _, id := range o.evaluation.takeAccepted() {
		o.accepted.add(o.candidates[id])
	}
	batch := o.accepted.next(batchWeight)
	batch = slices.DeleteFunc(batch, func(c *candidate) bool { return c.from.isOver() })
	return o.accepted.size > 0, o.commit(ctx, batch)
}

func (o *owner) commit(ctx context.Context, batch []*candidate) error {
	if len(batch) == 0 {
		return nil
	}
	matches := make([]db.AcceptedMatch, len(batch))
	for i, c := range batch {
		matches[i] = c.acceptedMatch()
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	final, err := o.Store.AcceptMatches(ctx, o.ref, matches, o.Backfill)
	if err != nil {
		return err
	}
	for i, f := range final {
		o.metrics.verdicts.WithLabelValues(f.Verdict.String()).Inc()
		if f.Verdict == match.Kept {
			batch[i].from.accept(batch[i].seq, f.Created)
		}
	}
	return nil
}

func (c *candidate) acceptedMatch() db.AcceptedMatch {
	caller, seq := c.from.row(c.seq)
	return db.AcceptedMatch{ID: c.ID, Tickets: c.Tickets, Backfill: c.backfill(), Caller: caller, Seq: seq}
}

// outOfTime reports whether Options.Acceptance is over since the evaluator has ended. The matches that are left keep their
// tickets free for the next cycle.
func (o *owner) outOfTime(ctx context.Context) bool {
	if o.commitsUntil.IsZero() {
		o.commitsUntil = time.Now().Add(o.Acceptance)
	}
	if time.Now().Before(o.commitsUntil) {
		return false
	}
	o.metrics.verdicts.WithLabelValues(outOfTime).Add(float64(o.accepted.size))
	o.Log.LogAttrs(ctx, slog.LevelWarn, "a cycle has more matches than it has time to commit: the others are dropped, their tickets stay free",
		slog.String("cycle", o.ref.ID.String()), slog.Int("dropped", o.accepted.size))
	return true
}
