package cycle

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// owner is the [role] of the replica that runs a cycle.
type owner struct {
	round *round

	phase         string                       // the state of the cycle
	lastProposal  map[uuid.UUID]int32          // the number of the last proposal that was taken of each caller
	remoteCallers map[uuid.UUID]db.CycleCaller // callers of other replicas; nil: not read yet
	hasNoRemote   bool                         // remoteCallers is empty, and stays so

	evaluation     *evaluation
	evaluatesUntil time.Time // the end of Options.Evaluation, in the phase evaluating
	commitsUntil   time.Time // the end of Options.Acceptance; zero: the evaluator has not ended
	cycleResult    string    // ok, failed or deserted; empty while the cycle runs
}

// newFirstOwner returns the owner of a cycle that this replica has opened.
func newFirstOwner(r *round, c db.Cycle) *owner {
	o := newOwner(r, c)
	// Without registration a cycle begins in collecting, and no other replica can join it.
	o.remoteCallers, o.hasNoRemote = map[uuid.UUID]db.CycleCaller{}, c.State == db.CycleCollecting
	// No other replica has proposals yet. A follower that joins earlier notifies the owner.
	o.round.nextReadAt = time.Now().Add(o.round.resources.options.Registration)
	return o
}

// newOwner returns the owner of a cycle that another replica owned before, and sets how its round waits.
func newOwner(r *round, c db.Cycle) *owner {
	// The owner takes proposals of its own calls from memory, so that no statement is worth a delay. Those of others are
	// to be read at once.
	r.batchDelay, r.nextReadAt = 0, time.Time{}
	return &owner{round: r, phase: c.State, lastProposal: map[uuid.UUID]int32{},
		evaluatesUntil: time.Now().Add(r.resources.options.Evaluation)}
}

// mayPropose reports whether more proposals may follow.
func (o *owner) mayPropose() bool {
	for _, c := range o.remoteCallers {
		if c.Alive && c.Proposing {
			return true
		}
	}
	return slices.ContainsFunc(o.round.localCalls(), (*call).isProposing)
}

// isDeserted reports whether all callers have left.
func (o *owner) isDeserted() bool {
	for _, c := range o.remoteCallers {
		if c.Alive {
			return false
		}
	}
	return !slices.ContainsFunc(o.round.localCalls(), func(c *call) bool { return !c.isOver() })
}

// isOver reports whether the caller of a candidate waits for no more matches.
func (o *owner) isOver(c *candidate) bool {
	if c.localCall != nil {
		return c.localCall.isOver()
	}
	return !o.remoteCallers[c.callerID].Alive
}
