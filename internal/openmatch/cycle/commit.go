package cycle

import (
	"context"
	"log/slog"
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// batchWeight bounds the matches and tickets of one transaction, so that the first matches are delivered while others
// are committed.
const batchWeight = 4096

// commitBatch commits a batch of the matches that the evaluator has accepted, and queues them for delivery. Here tickets
// become matched. left is how many accepted matches are not in the batch.
func (o *owner) commitBatch(ctx context.Context) (left int, err error) {
	batch, left := o.evaluation.nextAccepted(batchWeight)
	batch = slices.DeleteFunc(batch, o.isOver)
	if len(batch) == 0 {
		return left, nil
	}
	matches := make([]db.AcceptedMatch, len(batch))
	for i, c := range batch {
		matches[i] = c.acceptedMatch()
	}
	final, err := o.round.resources.options.Store.AcceptMatches(ctx, o.round.cycleRef, matches,
		o.round.resources.options.Backfill)
	for i, f := range final {
		o.round.resources.metrics.matchVerdicts.WithLabelValues(f.Verdict.String()).Inc()
		batch[i].decideMatch(f.Verdict == match.Kept, f.CreatedBackfill)
	}
	return left, err
}

// acceptedMatch returns what AcceptMatches gets of a candidate. It names the proposal only for a caller of another
// replica, which waits for the verdict in its row.
func (c *candidate) acceptedMatch() db.AcceptedMatch {
	m := db.AcceptedMatch{ID: c.proposal.ID, TicketIDs: c.proposal.Tickets, Backfill: c.proposal.matchBackfill()}
	if c.localCall == nil {
		m.CallerID, m.ProposalSeq = c.callerID, c.callerSeq
	}
	return m
}

// noteDropped counts and logs that the matches that are left are not committed. Their tickets are free for the next
// cycle.
func (o *owner) noteDropped(ctx context.Context, left int) {
	o.round.resources.metrics.matchVerdicts.WithLabelValues(verdictOutOfTime).Add(float64(left))
	o.round.resources.options.Log.LogAttrs(ctx, slog.LevelWarn,
		"a cycle has more matches than it has time to commit: the others are dropped, their tickets stay free",
		slog.String("cycle", o.round.cycleRef.ID.String()), slog.Int("dropped", left))
}
