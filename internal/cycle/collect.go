package cycle

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// proposer is a caller in a cycle as the cycle's owner sees it: a *call of this replica, or a *remoteCall of another one.
type proposer interface {
	isProposing() bool // more proposals may follow
	isOver() bool      // the caller waits for no more matches
	// accept reports that the proposal with a number is committed.
	accept(seq int32, created *db.Backfill)
	// row returns the key of the row in which AcceptMatches stores the verdict on a proposal; zero when it has no row.
	row(seq int32) (caller uuid.UUID, rowSeq int32)
}

// candidate is a proposal in the cycle of this owner.
type candidate struct {
	Proposal

	from proposer
	seq  int32 // its number among those of from, from 1
}

// remoteCall is a call of another replica, as its rows show it. The zero CycleCaller is a call that has left.
type remoteCall struct {
	db.CycleCaller

	id   uuid.UUID
	seen int32 // the number of the last proposal that was read
}

func (r *remoteCall) isProposing() bool { return r.Alive && r.Proposing }
func (r *remoteCall) isOver() bool      { return !r.Alive }

// accept does nothing: the call's own replica reads the verdict from the proposal's row.
func (r *remoteCall) accept(int32, *db.Backfill) {}

func (r *remoteCall) row(seq int32) (caller uuid.UUID, rowSeq int32) { return r.id, seq }

// proposers returns all callers of the cycle that the owner knows.
func (o *owner) proposers() (all []proposer) {
	for _, c := range o.local() {
		all = append(all, c)
	}
	for _, r := range o.remote {
		all = append(all, r)
	}
	return all
}

// allComplete reports whether no more proposals will follow.
func (o *owner) allComplete() bool {
	return !slices.ContainsFunc(o.proposers(), proposer.isProposing)
}

// isDeserted reports whether all callers have left.
func (o *owner) isDeserted() bool {
	return !slices.ContainsFunc(o.proposers(), func(p proposer) bool { return !p.isOver() })
}

// collect takes the new proposals of this replica's calls.
func (o *owner) collect() {
	for _, c := range o.local() {
		more, _ := c.proposalsAfter(o.taken[c])
		for _, p := range more {
			o.taken[c]++
			seq := int32(o.taken[c])
			_, undecided := c.undecided(seq)
			o.add(&candidate{p, c, seq}, !undecided)
		}
	}
}

// add adds a candidate, and gives it to the evaluator unless a previous owner has decided about it.
func (o *owner) add(c *candidate, decided bool) {
	switch {
	case o.evaluation.inputClosed:
	case o.candidates[c.ID] != nil:
		o.failure = errSameOfTwo(c.ID)
	default:
		o.candidates[c.ID] = c
		if !decided {
			o.evaluation.add(c.Proposal)
		}
	}
}

// readRemote reads the rows of other replicas' calls. A database that cannot be reached is tried again later, until the
// lease has expired.
func (o *owner) readRemote(ctx context.Context) error {
	due := o.remoteChanged && (o.phase == db.CycleRegistering || len(o.remote) > 0)
	if o.remoteChanged = false; !due {
		return nil
	}
	err := o.readChanges(ctx)
	if db.IsKind(err, db.Unavailable) {
		return nil
	}
	return err
}

func (o *owner) readChanges(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	changes, err := o.Store.CycleChanges(ctx, o.ref, o.seen())
	if err == nil {
		o.addChanges(changes)
	}
	return err
}

// advance moves the cycle's row to a state, and reads all callers and proposals from before.
func (o *owner) advance(ctx context.Context, phase string) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	changes, err := o.Store.AdvanceCycle(ctx, o.ref, phase, o.seen())
	if err != nil {
		return err
	}
	o.addChanges(changes)
	o.phase = phase
	return nil
}

// seen returns the number of the last proposal read of each remote call.
func (o *owner) seen() map[uuid.UUID]int32 {
	seen := make(map[uuid.UUID]int32, len(o.remote))
	for id, r := range o.remote {
		seen[id] = r.seen
	}
	return seen
}

// addChanges adds the states of all remote calls, and their new proposals. A remote call that is not listed has left.
func (o *owner) addChanges(changes db.CycleChanges) {
	for r := range maps.Values(o.remote) {
		r.CycleCaller = db.CycleCaller{}
	}
	for _, c := range changes.Callers {
		if c.Replica != o.Replica {
			o.remoteCall(c.ID).CycleCaller = c
		}
	}
	for _, p := range changes.Proposals {
		r := o.remoteCall(p.Caller)
		r.seen = p.Seq
		o.add(&candidate{proposalOf(p), r, p.Seq}, p.Decided)
	}
}

// remoteCall returns the remote call with an id. A call whose proposals are read before its own row counts as one that has
// left until the next reading.
func (o *owner) remoteCall(id uuid.UUID) *remoteCall {
	r := o.remote[id]
	if r == nil {
		r = &remoteCall{id: id}
		o.remote[id] = r
	}
	return r
}

// resume reads what the previous owner has decided about the proposals of this replica's calls.
func (o *owner) resume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	calls := o.byID()
	ids := slices.Collect(maps.Keys(calls))
	status, err := o.Store.CycleStatus(ctx, o.ref, ids)
	if err != nil {
		return err
	}
	o.deliverCommitted(status.Committed)
	decided, err := o.Store.DecidedProposals(ctx, o.ref, ids)
	if err != nil {
		return err
	}
	for id, seqs := range decided {
		for _, seq := range seqs {
			calls[id].markDecided(seq)
		}
	}
	if o.phase == db.CycleEvaluating {
		o.cancelFunctions()
	}
	o.collect()
	return o.readChanges(ctx)
}
