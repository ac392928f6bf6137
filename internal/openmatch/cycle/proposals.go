package cycle

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

// Bounds of what one call may propose.
const (
	maxProposals = 100_000
	maxBytes     = 64 << 20 // of all proposals
	maxMatchID   = 4 << 10  // bytes: each ticket of a match stores the match's id
	maxMarks     = 16 << 20 // bytes that the tickets of a match store: one transaction writes them all
)

// candidate is a proposal in a cycle.
type candidate struct {
	Proposal

	local     *call // the caller; nil for one of another replica
	caller    uuid.UUID
	seq       int32 // its number among those of the caller, from 1
	isDecided bool  // it is committed or dropped; the round's goroutine only

	accepted bool // by the evaluator of this replica
	place    int  // in the order of acceptance
}

// decide takes the verdict. A caller of another replica reads it from its row.
func (c *candidate) decide(kept bool, created *db.Backfill) {
	c.isDecided = true
	if kept && c.local != nil {
		c.local.accept(Accepted{Proposal: c.Proposal, CreatedBackfill: created})
	}
}

// propose adds a match that the match function proposes. After an error the call takes no more proposals.
func (c *call) propose(p Proposal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != proposing {
		return errOver
	}
	if c.ids[p.ID] {
		err := fmt.Errorf(sameTwice, p.ID)
		c.fail(err)
		return err
	}
	if err := c.charge(p); err != nil {
		c.advance(proposed)
		c.mmfErr = err
		return err
	}
	c.ids[p.ID] = true
	if p.Unreadable && !c.engine.customEvaluator {
		c.engine.metrics.verdicts.WithLabelValues(unreadable).Inc()
		return nil
	}
	c.proposals = append(c.proposals, &candidate{Proposal: p, local: c, caller: c.id, seq: int32(len(c.proposals) + 1)})
	wait.Wake(c.round.proposed)
	return nil
}

// charge counts a proposal against the bounds of the call and of the engine's memory.
func (c *call) charge(p Proposal) error {
	marks := len(p.Tickets) * (64 + len(p.ID))
	size := 128 + len(p.BackfillBody) + len(p.Match) + marks
	for _, t := range p.Tickets {
		size += len(t)
	}
	c.bytes += size
	total := c.engine.memory.Add(int64(size))
	switch {
	case len(p.ID) > maxMatchID:
		return errLongID
	case marks > maxMarks:
		return errManyTickets
	case len(c.ids) >= maxProposals:
		return errTooMany
	case c.bytes > maxBytes:
		return errTooLarge
	case total > c.engine.options.Memory:
		return errFull
	}
	return nil
}

// Hold counts the bytes of a match function's answer that are in memory before they are proposals, against the bound of
// all proposals. Each successful Hold needs a Release. Errors: the memory is in use. Safe for concurrent use.
func (e *Engine) Hold(bytes int) error {
	if e.memory.Add(int64(bytes)) > e.options.Memory {
		e.Release(bytes)
		return errFull
	}
	return nil
}

// Release frees bytes that Hold counted.
func (e *Engine) Release(bytes int) { e.memory.Add(-int64(bytes)) }

// proposalsAfter returns the proposals after the first n, and whether no more will follow.
func (c *call) proposalsAfter(n int32) (more []*candidate, complete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proposals[n:], c.state >= proposed
}
