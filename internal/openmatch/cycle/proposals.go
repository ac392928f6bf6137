package cycle

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

// candidate is a proposal in a cycle.
type candidate struct {
	proposal Proposal

	localCall *call // the caller; nil for one of another replica
	callerID  uuid.UUID
	callerSeq int32 // the number of the proposal among those of the caller, from 1
	isDecided bool  // the proposal is committed or dropped; for the round's goroutine only

	isAccepted  bool // by the evaluator of this replica
	acceptOrder int  // the number of matches that the evaluator accepted before
}

// decideMatch takes the verdict, and queues a kept match for a caller of this replica. A caller of another replica reads
// the verdict from its row.
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
	if c.state != stateProposing {
		return errOver
	}
	if c.matchIDs[p.ID] {
		err := fmt.Errorf(sameTwice, p.ID)
		c.fail(err)
		return err
	}
	if err := c.chargeProposal(p); err != nil {
		// The proposals before this one count: only the function ends, not the call.
		c.advanceTo(stateProposed)
		c.mmfErr = err
		return err
	}
	c.matchIDs[p.ID] = true
	// The default evaluator decides by the score alone; another one reads the match itself.
	if p.Unreadable && !c.resources.customEvaluator {
		c.resources.metrics.matchVerdicts.WithLabelValues(verdictUnreadable).Inc()
		return nil
	}
	c.proposals = append(c.proposals, &candidate{proposal: p, localCall: c, callerID: c.id,
		callerSeq: int32(len(c.proposals) + 1)})
	wait.Wake(c.joined.proposalAdded)
	return nil
}

// Estimates of memory, in bytes.
const (
	candidateCost = 128 // of a candidate, without what it refers to
	markCost      = 64  // of the mark of a ticket, without the match id: the cycle's id, and what is around it
)

// chargeProposal counts a proposal against the bounds of the call and of the engine's memory.
func (c *call) chargeProposal(p Proposal) error {
	marks := len(p.Tickets) * (markCost + len(p.ID))
	size := candidateCost + len(p.BackfillBody) + len(p.Match) + marks
	for _, t := range p.Tickets {
		size += len(t)
	}
	// A proposal that is refused below counts as well: leave releases what was counted.
	c.heldBytes += size
	total := c.resources.proposalBytes.Add(int64(size))
	switch {
	case len(p.ID) > maxMatchID:
		return errLongID
	case marks > maxMarks:
		return errManyTickets
	case len(c.matchIDs) >= maxProposals:
		return errTooMany
	case c.heldBytes > maxBytes:
		return errTooLarge
	case total > c.resources.options.Memory:
		return errFull
	}
	return nil
}
