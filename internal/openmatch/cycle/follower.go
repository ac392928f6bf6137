package cycle

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

const (
	// statusInterval is how often a follower reads the cycle's status when no notification arrives.
	statusInterval = 100 * time.Millisecond
	// batchDelay is how long a follower waits for more proposals to write in the same statement.
	batchDelay = 5 * time.Millisecond
)

// follower is the [role] of a replica that connects its calls with the owner of the cycle, through rows: it writes
// their proposals and delivers the matches that the owner has committed.
type follower struct {
	round *round

	lastWritten   map[uuid.UUID]int32 // the number of the last proposal of each call that was written or is in nextBatch
	finishedCalls map[uuid.UUID]bool  // calls of which no proposals follow the last one
	nextBatch     proposalBatch
	isCollecting  bool      // the owner takes proposals
	answeredAt    time.Time // when the database answered last
	ownCycle      *db.Cycle // the cycle, once this replica has taken it over
}

func newFollower(r *round) *follower {
	r.batchDelay = batchDelay
	return &follower{round: r, lastWritten: map[uuid.UUID]int32{}, finishedCalls: map[uuid.UUID]bool{},
		isCollecting: true,
		answeredAt:   time.Now()}
}

// idleTime implements [role].
func (f *follower) idleTime() time.Duration { return time.Until(f.round.nextReadAt) }

// runStep implements [role]. The role ends with the cycle, when no call of this replica is left in it, or when this
// replica has taken it over.
func (f *follower) runStep(ctx context.Context) (over bool, err error) {
	if over, err := f.readStatus(ctx); over || err != nil {
		return over, err
	}
	if err := f.writeBatch(ctx); err != nil && !fault.Is(err, fault.Unavailable) { // readStatus ends a long outage
		return false, err
	}
	if len(f.round.localCalls()) > 0 || time.Now().Before(f.round.registersUntil) {
		return false, nil
	}
	// A call that has joined may be on its way into the round, which must not end without it.
	f.round.resources.awaitJoining()
	return len(f.round.localCalls()) == 0, nil
}

// readStatus reads and takes the cycle's status when that is due. Like an owner, it tolerates a database that has been
// unavailable for less than the lease.
func (f *follower) readStatus(ctx context.Context) (over bool, err error) {
	if time.Now().Before(f.round.nextReadAt) {
		return false, nil
	}
	over, err = f.readStatusNow(ctx)
	f.round.nextReadAt = time.Now().Add(min(statusInterval, f.round.resources.options.Lease/4))
	if fault.Is(err, fault.Unavailable) && time.Since(f.answeredAt) < f.round.resources.options.Lease {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.answeredAt = time.Now()
	return over, nil
}

func (f *follower) readStatusNow(ctx context.Context) (over bool, err error) {
	status, err := f.round.resources.options.Store.FollowCycle(ctx, f.round.cycleRef, idsOf(f.round.localCalls()))
	if err != nil {
		return false, err
	}
	return f.takeStatus(ctx, status)
}

// takeStatus delivers matches that the owner has committed, ends the calls when the cycle has ended, and takes the
// cycle over when its lease has expired.
func (f *follower) takeStatus(ctx context.Context, status db.CycleStatus) (over bool, err error) {
	f.takeVerdicts(status.DecidedProposals)
	// The owner takes no more proposals when the cycle is evaluating, or its time to collect is over.
	if status.State == db.CycleEvaluating || !time.Now().Before(f.round.collectsUntil) {
		f.round.cancelFunctions()
	}
	switch {
	case !status.Exists:
		f.round.failure = unavailableError("the cycle is lost: the database has restarted")
		return true, nil
	case status.State == db.CycleEnded:
		if status.FailureText != "" {
			f.round.failure = errors.New(status.FailureText)
		}
		return true, nil
	case status.LeaseExpired:
		return f.takeOver(ctx)
	}
	return false, nil
}

// takeOver makes this replica the owner, unless another one was first.
func (f *follower) takeOver(ctx context.Context) (taken bool, err error) {
	c, decided, err := f.round.resources.options.Store.TakeOverCycle(ctx, f.round.cycleRef, idsOf(f.round.localCalls()))
	if err != nil || c == nil {
		return false, err
	}
	f.takeVerdicts(decided)
	f.round.setTimes(*c)
	f.ownCycle = c
	return true, nil
}

// takeVerdicts delivers matches of this replica's calls that another owner of the cycle has committed, each once.
func (f *follower) takeVerdicts(verdicts []db.DecidedProposal) {
	calls := map[uuid.UUID]*call{}
	for _, c := range f.round.localCalls() {
		calls[c.id] = c
	}
	for _, v := range verdicts {
		proposals, _ := calls[v.CallerID].proposalsAfter(v.Seq - 1)
		// The call and the proposal exist, since verdicts are on proposals that this replica has written.
		if p := proposals[0]; !p.isDecided {
			p.decideMatch(v.IsCommitted, f.createdBackfill(p.proposal, v))
		}
	}
}

// createdBackfill computes the backfill that the owner created for a proposal. Every replica computes the same
// contents.
func (f *follower) createdBackfill(p Proposal, d db.DecidedProposal) *db.Backfill {
	if d.CreatedBackfill == "" {
		return nil
	}
	created, err := f.round.resources.options.Backfill(p.BackfillBody, nil)
	if err != nil {
		return nil // cannot be: the owner has computed the backfill from the same body
	}
	return &db.Backfill{ID: d.CreatedBackfill, Body: created.EncodeBody(d.CreatedBackfill, d.BackfillCreated),
		Generation: 1, CreatedAt: d.BackfillCreated}
}
