package cycle

import (
	"context"
	"math"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

// Bounds of the proposals in one statement.
const (
	maxBatch      = 512
	maxBatchBytes = 4 << 20
)

// proposalBatch is what one statement writes.
type proposalBatch struct {
	proposals     []db.CycleProposal
	finishedCalls []uuid.UUID // calls of which no more proposals follow
	rowBytes      int         // about
}

func (b *proposalBatch) isFull() bool {
	return len(b.proposals) >= maxBatch || b.rowBytes >= maxBatchBytes
}

// writeBatch takes calls that are over out of the cycle, and writes a batch of new proposals of the others.
func (f *follower) writeBatch(ctx context.Context) error {
	// Calls leave at any time; the owner takes proposals only while it collects.
	if err := f.leaveOver(ctx); err != nil || !f.isCollecting {
		return err
	}
	for _, c := range f.round.localCalls() {
		f.fillBatch(c)
	}
	if len(f.nextBatch.proposals)+len(f.nextBatch.finishedCalls) == 0 {
		return nil
	}
	collecting, err := f.round.resources.options.Store.Propose(ctx, f.round.cycleRef, f.nextBatch.proposals,
		f.nextBatch.finishedCalls)
	if err != nil {
		return err // the same batch is written again
	}
	f.nextBatch = proposalBatch{}
	wait.Wake(f.round.changed) // to write the next batch
	f.isCollecting = collecting
	if !collecting {
		f.round.cancelFunctions() // the owner takes no more proposals
	}
	return nil
}

// leaveOver takes calls that are over out of the cycle, and delivers what was committed for them before.
func (f *follower) leaveOver(ctx context.Context) error {
	over := f.round.overCalls()
	if len(over) == 0 {
		return nil
	}
	verdicts, err := f.round.resources.options.Store.LeaveCycle(ctx, f.round.cycleRef, idsOf(over))
	if err != nil {
		return err
	}
	f.takeVerdicts(verdicts)
	f.round.dropCalls(over)
	return nil
}

// fillBatch adds new proposals of a call to the batch, in their order.
func (f *follower) fillBatch(c *call) {
	more, complete := c.proposalsAfter(f.lastWritten[c.id])
	for len(more) > 0 && !f.nextBatch.isFull() {
		f.nextBatch.addRow(f.rowOf(more[0]))
		f.lastWritten[c.id] = more[0].callerSeq
		more = more[1:]
	}
	// A call is finished only with its last proposal, which may be in a later batch.
	if complete && len(more) == 0 && !f.finishedCalls[c.id] {
		f.finishedCalls[c.id] = true
		f.nextBatch.finishedCalls = append(f.nextBatch.finishedCalls, c.id)
	}
}

func (b *proposalBatch) addRow(row db.CycleProposal) {
	const ticketBytes = 24 // of the id of a ticket, about
	b.proposals = append(b.proposals, row)
	b.rowBytes += len(row.EncodedMatch) + len(row.MatchID) + ticketBytes*len(row.TicketIDs)
	if row.Backfill != nil {
		b.rowBytes += len(row.Backfill.Body)
	}
}

// rowOf encodes a proposal. A missing score becomes the lowest one. Only a custom evaluator needs the whole match.
func (f *follower) rowOf(p *candidate) db.CycleProposal {
	row := db.CycleProposal{CallerID: p.callerID, Seq: p.callerSeq, MatchID: p.proposal.ID, Score: math.Inf(-1),
		TicketIDs: p.proposal.Tickets,
		Backfill:  p.proposal.matchBackfill()}
	if p.proposal.Score != nil {
		row.Score = *p.proposal.Score
	}
	if f.round.resources.customEvaluator {
		row.EncodedMatch = p.proposal.Match
	}
	return row
}

// proposalOf decodes what rowOf encodes.
func proposalOf(row db.CycleProposal) Proposal {
	p := Proposal{ID: row.MatchID, Score: &row.Score, Tickets: row.TicketIDs, Match: row.EncodedMatch}
	if row.Backfill != nil {
		p.Backfill, p.Generation, p.BackfillBody = row.Backfill.ID, row.Backfill.Generation, row.Backfill.Body
	}
	return p
}
