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
	proposal Proposal

	localCall *call // the caller; nil for one of another replica
	callerID  uuid.UUID
	callerSeq int32 // its number among those of the caller, from 1
	isDecided bool  // it is committed or dropped; the round's goroutine only

	isAccepted  bool // by the evaluator of this replica
	acceptOrder int  // in the order of acceptance
}

// decideMatch takes the verdict. A caller of another replica reads it from its row.
func (c *candidate) decideMatch(kept bool, created *db.Backfill) {
	c.isDecided = true
	if kept && c.localCall != nil {
		c.localCall.queueAccepted(Accepted{Proposal: c.proposal, CreatedBackfill: created})
	}
}

// addProposal adds a match that the match function proposes. After an error the call takes no more proposals.
func (c *call) addProposal(p Proposal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != proposing {
		return errOver
	}
	if c.matchIDs[p.ID] {
		err := fmt.Errorf(sameTwice, p.ID)
		c.fail(err)
		return err
	}
	if err := c.chargeProposal(p); err != nil {
		c.advanceTo(proposed)
		c.mmfErr = err
		return err
	}
	c.matchIDs[p.ID] = true
	if p.Unreadable && !c.engine.customEvaluator {
		c.engine.metrics.matchVerdicts.WithLabelValues(unreadable).Inc()
		return nil
	}
	c.proposals = append(c.proposals, &candidate{proposal: p, localCall: c, callerID: c.id,
		callerSeq: int32(len(c.proposals) + 1)})
	wait.Wake(c.round.proposalAdded)
	return nil
}

// chargeProposal counts a proposal against the bounds of the call and of the engine's memory.
func (c *call) chargeProposal(p Proposal) error {
	marks := len(p.Tickets) * (64 + len(p.ID))
	size := 128 + len(p.BackfillBody) + len(p.Match) + marks
	for _, t := range p.Tickets {
		size += len(t)
	}
	c.heldBytes += size
	total := c.engine.proposalBytes.Add(int64(size))
	switch {
	case len(p.ID) > maxMatchID:
		return errLongID
	case marks > maxMarks:
		return errManyTickets
	case len(c.matchIDs) >= maxProposals:
		return errTooMany
	case c.heldBytes > maxBytes:
		return errTooLarge
	case total > c.engine.options.Memory:
		return errFull
	}
	return nil
}

// Hold counts the bytes of a match function's answer that are in memory before they are proposals, against the bound of
// all proposals. Each successful Hold needs a Release. Errors: the memory is in use. Safe for concurrent use.
func (e *Engine) Hold(bytes int) error {
	if e.proposalBytes.Add(int64(bytes)) > e.options.Memory {
		e.Release(bytes)
		return errFull
	}
	return nil
}

// Release frees bytes that Hold counted.
func (e *Engine) Release(bytes int) { e.proposalBytes.Add(-int64(bytes)) }

// proposalsAfter returns the proposals after the first n, and whether no more will follow.
func (c *call) proposalsAfter(n int32) (more []*candidate, complete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proposals[n:], c.state >= proposed
}
