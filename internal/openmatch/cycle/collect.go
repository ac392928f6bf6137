package cycle

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// remoteInterval is how often an owner reads the rows of other replicas' calls when no notification arrives.
const remoteInterval = 50 * time.Millisecond

// collectLocal takes the new proposals of this replica's calls.
func (o *owner) collectLocal() {
	for _, c := range o.round.localCalls() {
		more, _ := c.proposalsAfter(o.lastProposal[c.id])
		for _, p := range more {
			o.lastProposal[c.id] = p.callerSeq
			o.evaluation.addCandidate(p)
		}
	}
}

// readRemote reads the rows of other replicas' calls when that is due. A database that cannot be reached is tried again
// later, until the lease has expired.
func (o *owner) readRemote(ctx context.Context) error {
	if o.hasNoRemote || time.Now().Before(o.round.nextReadAt) {
		return nil
	}
	changes, err := o.round.resources.options.Store.ReadCycleChanges(ctx, o.round.cycleRef, o.lastProposal)
	o.round.nextReadAt = time.Now().Add(remoteInterval)
	// Before the first reading the owner does not know whether other replicas have callers: then the error counts.
	if fault.Is(err, fault.Unavailable) && o.remoteCallers != nil {
		return nil
	}
	if err != nil {
		return err
	}
	o.addChanges(changes)
	return nil
}

// addChanges replaces the states of all remote calls, and adds their new proposals. A remote call that is not listed
// has left.
func (o *owner) addChanges(changes db.CycleChanges) {
	o.remoteCallers = map[uuid.UUID]db.CycleCaller{}
	for _, c := range changes.Callers {
		// The calls of this replica are known from memory.
		if c.Replica != o.round.resources.options.Replica {
			o.remoteCallers[c.ID] = c
		}
	}
	for _, p := range changes.Proposals {
		o.lastProposal[p.CallerID] = p.Seq
		o.evaluation.addCandidate(&candidate{proposal: proposalOf(p), callerID: p.CallerID, callerSeq: p.Seq,
			isDecided: p.IsDecided})
	}
}
