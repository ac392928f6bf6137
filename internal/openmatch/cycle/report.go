package cycle

import (
	"context"
	"math"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/match"
)

// Bounds of the proposals in one statement.
const (
	maxBatch      = 512
	maxBatchBytes = 4 << 20
)

// proposalBatch is what one statement writes.
type proposalBatch struct {
	proposals []db.CycleProposal
	finished  []uuid.UUID // calls of which no more follow
	bytes     int
}

func (b *proposalBatch) isFull() bool {
	return len(b.proposals) >= maxBatch || b.bytes >= maxBatchBytes
}

// write takes calls that are over out of the cycle, and writes a batch of new proposals of the others.
func (f *follower) write(ctx context.Context) error {
	if err := f.leaveOver(ctx); err != nil || !f.collecting {
		return err
	}
	for _, c := range f.round.local() {
		f.fill(c)
	}
	if len(f.batch.proposals)+len(f.batch.finished) == 0 {
		return nil
	}
	collecting, err := f.round.engine.options.Store.Propose(ctx, f.round.ref, f.batch.proposals, f.batch.finished)
	if err != nil {
		return err // the same batch is written again
	}
	f.batch = proposalBatch{}
	wait.Wake(f.round.changed) // to write the next one
	if f.collecting = collecting; !collecting {
		f.round.cancelFunctions()
	}
	return nil
}

// leaveOver takes calls that are over out of the cycle, and delivers what was committed for them before.
func (f *follower) leaveOver(ctx context.Context) error {
	over := f.round.takeFinished()
	if len(over) == 0 {
		return nil
	}
	verdicts, err := f.round.engine.options.Store.LeaveCycle(ctx, f.round.ref, idsOf(over))
	if err != nil {
		return err
	}
	f.takeVerdicts(verdicts)
	f.round.drop(over)
	return nil
}

// fill adds new proposals of a call to the batch, in their order.
func (f *follower) fill(c *call) {
	more, complete := c.proposalsAfter(f.written[c.id])
	for len(more) > 0 && !f.batch.isFull() {
		f.batch.add(f.rowOf(more[0]))
		f.written[c.id] = more[0].seq
		more = more[1:]
	}
	if complete && len(more) == 0 && !f.finished[c.id] {
		f.finished[c.id] = true
		f.batch.finished = append(f.batch.finished, c.id)
	}
}

func (b *proposalBatch) add(row db.CycleProposal) {
	b.proposals = append(b.proposals, row)
	b.bytes += len(row.Match) + len(row.MatchID) + 24*len(row.Tickets)
	if row.Backfill != nil {
		b.bytes += len(row.Backfill.Body)
	}
}

// rowOf encodes a proposal. A missing score becomes the lowest one. Only a custom evaluator needs the whole match.
func (f *follower) rowOf(p *candidate) db.CycleProposal {
	row := db.CycleProposal{Caller: p.caller, Seq: p.seq, MatchID: p.ID, Score: math.Inf(-1), Tickets: p.Tickets,
		Backfill: p.backfill()}
	if p.Score != nil {
		row.Score = *p.Score
	}
	if f.round.engine.customEvaluator {
		row.Match = p.Match
	}
	return row
}

// proposalOf decodes what rowOf encodes.
func proposalOf(row db.CycleProposal) Proposal {
	p := Proposal{Proposal: match.Proposal{ID: row.MatchID, Score: &row.Score, Tickets: row.Tickets}, Match: row.Match}
	if row.Backfill != nil {
		p.Backfill, p.Generation, p.BackfillBody = row.Backfill.ID, row.Backfill.Generation, row.Backfill.Body
	}
	return p
}

func (p Proposal) backfill() *db.MatchBackfill {
	if p.BackfillBody == nil && p.Backfill == "" {
		return nil
	}
	return &db.MatchBackfill{ID: p.Backfill, Generation: p.Generation, Body: p.BackfillBody}
}
