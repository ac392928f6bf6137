package cycle

import (
	"context"
	"maps"
	"math"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// Bounds of the proposals in one statement.
const (
	maxBatch      = 512
	maxBatchBytes = 4 << 20
)

// report is what this replica has written of one of its calls.
type report struct {
	proposals int       // how many are written
	state     callState // proposed: no more follow; left: its row is deleted
}

// proposalBatch is what one statement writes.
type proposalBatch struct {
	proposals []db.CycleProposal
	complete  []uuid.UUID      // calls of which no more follow
	reports   map[*call]report // of these calls, once the batch is written
	bytes     int
}

// urgent reports whether there is something to write that should not wait for more.
func (f *follower) urgent() bool {
	n := 0
	for _, c := range f.local() {
		r := f.reports[c]
		more, complete := c.proposalsAfter(r.proposals)
		n += len(more)
		if n >= maxBatch || complete && r.state < proposed || c.isOver() && r.state < left {
			return true
		}
	}
	return false
}

// report deletes the rows of calls that are over, and writes the new proposals of the others.
func (f *follower) report(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := f.reportOver(ctx); err != nil {
		return err
	}
	for f.collecting {
		b := f.nextBatch()
		if len(b.proposals)+len(b.complete) == 0 {
			return nil
		}
		collecting, err := f.Store.Propose(ctx, f.ref, b.proposals, b.complete)
		if err == nil {
			err = f.renewCalls(ctx)
		}
		if err != nil {
			return err
		}
		if f.collecting = collecting; collecting {
			maps.Copy(f.reports, b.reports)
		} else {
			f.cancelFunctions()
		}
	}
	return nil
}

// reportOver takes calls that are over out of the cycle, and delivers what was committed for them before.
func (f *follower) reportOver(ctx context.Context) error {
	var over []*call
	var ids []uuid.UUID
	for _, c := range f.local() {
		if c.isOver() && f.reports[c].state < left {
			over, ids = append(over, c), append(ids, c.id)
		}
	}
	if len(over) == 0 {
		return nil
	}
	if err := f.Store.LeaveCycle(ctx, f.ref, ids); err != nil {
		return err
	}
	status, err := f.Store.CycleStatus(ctx, f.ref, ids)
	if err != nil {
		return err
	}
	f.deliverCommitted(status.Committed)
	for _, c := range over {
		f.reports[c] = report{state: left}
		c.release()
	}
	return nil
}

// nextBatch takes new proposals, those of each call in their order, within the bounds of a statement.
func (f *follower) nextBatch() *proposalBatch {
	b := &proposalBatch{reports: map[*call]report{}}
	for _, c := range f.local() {
		if !c.isOver() {
			b.add(f, c)
		}
	}
	return b
}

func (b *proposalBatch) add(f *follower, c *call) {
	r := f.reports[c]
	more, complete := c.proposalsAfter(r.proposals)
	for len(more) > 0 && len(b.proposals) < maxBatch && b.bytes < maxBatchBytes {
		p := more[0]
		more = more[1:]
		r.proposals++
		row := f.rowOf(c, r.proposals, p)
		b.proposals = append(b.proposals, row)
		b.bytes += len(row.Match) + len(p.BackfillBody) + len(p.ID) + 24*len(p.Tickets)
	}
	if complete && len(more) == 0 && r.state < proposed {
		r.state = proposed
		b.complete = append(b.complete, c.id)
	}
	b.reports[c] = r
}

// rowOf encodes a proposal. A missing score becomes the lowest one. Only a custom evaluator needs the whole match.
func (f *follower) rowOf(c *call, seq int, p Proposal) db.CycleProposal {
	row := db.CycleProposal{Caller: c.id, Seq: int32(seq), MatchID: p.ID, Score: math.Inf(-1), Tickets: p.Tickets, Backfill: p.backfill()}
	if p.Score != nil {
		row.Score = *p.Score
	}
	if f.customEvaluator {
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
