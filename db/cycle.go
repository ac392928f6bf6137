package db

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// The states of a cycle, in their order.
const (
	CycleRegistering = "registering" // callers may join and propose
	CycleCollecting  = "collecting"  // callers that have joined may propose
	CycleEvaluating  = "evaluating"  // the cycle takes no more proposals
	CycleEnded       = "ended"       // all callers have their answers
)

// Cycle is one run of an evaluator over what the callers of all replicas propose. A region has one at a time. Its rows
// are in unlogged tables, so a crash of Postgres deletes them.
type Cycle struct {
	ID          uuid.UUID
	Owner       uuid.UUID // the replica that runs it
	State       string
	RegistersIn time.Duration // for how long from now on callers may join; negative when that is over
	CollectsIn  time.Duration // for how long from now on callers may propose; negative when that is over
}

// NewCycle is the durations of a cycle's phases.
type NewCycle struct {
	RegistrationTime time.Duration // in which callers may join; 0: only the callers that open the cycle are in it
	CollectionTime   time.Duration // in which callers may propose, after RegistrationTime
	LeaseTTL         time.Duration // after so long without a renewal, another replica may take the cycle over
}

// CycleRef names a cycle, and the replica that takes part in it.
type CycleRef struct {
	Region    string
	ID        uuid.UUID
	ReplicaID uuid.UUID
	LeaseTTL  time.Duration
}

// Mark returns the mark that the tickets of a match store: the cycle and the match_id, since two cycles may have the
// same match_id.
func (r CycleRef) Mark(matchID string) []byte { return append(r.ID[:], matchID...) }

// cycleLost returns the error for a replica that no longer owns the cycle, because another one does or it has ended.
func cycleLost() error {
	return fault.New(fault.Superseded, "cycle_lost", "another replica runs the cycle")
}

// JoinCycle adds callers of a replica to the cycle that is registering, or opens a cycle for them. joined is false when
// the running cycle is past registration. The ids of callers must never have been used before. Errors: Unavailable,
// after which the callers may have joined or not.
func (s *Store) JoinCycle(ctx context.Context, region string, replica uuid.UUID, callers []uuid.UUID,
	n NewCycle) (c Cycle, joined bool, err error) {
	var p tx.Pipeline
	var first, second []query.JoinCycleRow
	var opened []query.OpenCycleRow
	join := query.JoinCycleParams{Region: region, Replica: replica, Callers: callers}
	// A cycle that nobody runs and nobody can take over would keep OpenCycle from opening another.
	query.QueueExec(&p, (*query.Queries).EndDesertedCycle,
		query.EndDesertedCycleParams{Region: region, Lease: n.LeaseTTL})
	query.Queue(&p, &first, (*query.Queries).JoinCycle, join)
	query.Queue(&p, &opened, (*query.Queries).OpenCycle, query.OpenCycleParams{
		Region: region, ID: value.NewID(), Replica: replica, Callers: callers, Lease: n.LeaseTTL,
		Registration: n.RegistrationTime, Collection: n.CollectionTime,
	})
	// JoinCycle again: another replica may have opened a cycle while OpenCycle waited for it.
	query.Queue(&p, &second, (*query.Queries).JoinCycle, join)
	if err := s.q.Send(ctx, &p); err != nil {
		return Cycle{}, false, frame.Classify(err)
	}
	// At most one of the three has a row. A caller that is in a cycle already gets no second row.
	if rows := slices.Concat(first, second); len(rows) > 0 {
		return Cycle(rows[0]), true, nil
	}
	if len(opened) > 0 {
		return Cycle(opened[0]), true, nil
	}
	return Cycle{}, false, nil
}

// CycleStatus is a cycle as a follower reads it.
type CycleStatus struct {
	Exists           bool // false: its row was deleted, or lost in a crash of Postgres
	State            string
	FailureText      string            // why the cycle failed for all callers; empty: it did not fail
	LeaseExpired     bool              // another replica may take the cycle over
	DecidedProposals []DecidedProposal // the callers' proposals that an owner has decided about
}

// DecidedProposal is the verdict on a proposal of a follower.
type DecidedProposal struct {
	CallerID        uuid.UUID
	Seq             int32
	IsCommitted     bool      // the proposal is committed as a match; false: it was dropped
	CreatedBackfill string    // the id of the backfill that was created for it; empty: none was
	BackfillCreated time.Time // when that backfill was created
}

// FollowCycle reads a cycle and the verdicts on proposals of callers. It renews the callers, which count as gone a
// lease after the last renewal. Errors: Unavailable.
func (s *Store) FollowCycle(ctx context.Context, ref CycleRef, callers []uuid.UUID) (CycleStatus, error) {
	var p tx.Pipeline
	var cycles []query.GetCycleRow
	query.QueueExec(&p, (*query.Queries).RenewCallers,
		query.RenewCallersParams{Region: ref.Region, Cycle: ref.ID, Ids: callers, Lease: ref.LeaseTTL})
	query.Queue(&p, &cycles, (*query.Queries).GetCycle, query.GetCycleParams{Region: ref.Region, ID: ref.ID})
	// The verdicts are read after the cycle: if it has ended, no more follow.
	decided, err := s.sendAndReadVerdicts(ctx, ref, callers, &p)
	if err != nil {
		return CycleStatus{}, err
	}
	status := CycleStatus{DecidedProposals: decided}
	if len(cycles) > 0 {
		row := cycles[0]
		status.Exists, status.State, status.FailureText, status.LeaseExpired = true, row.State, row.Failure, !row.Alive
	}
	return status, nil
}

// sendAndReadVerdicts sends a pipeline, and with it a statement that reads the verdicts on proposals of callers.
func (s *Store) sendAndReadVerdicts(ctx context.Context, ref CycleRef, callers []uuid.UUID,
	p *tx.Pipeline) (decided []DecidedProposal, err error) {
	var rows []query.DecidedProposalsRow
	query.Queue(p, &rows, (*query.Queries).DecidedProposals,
		query.DecidedProposalsParams{Region: ref.Region, Cycle: ref.ID, Callers: callers})
	if err := s.q.Send(ctx, p); err != nil {
		return nil, frame.Classify(err)
	}
	for _, row := range rows {
		d := DecidedProposal{CallerID: row.Caller, Seq: row.Seq, IsCommitted: row.Accepted}
		if row.CreatedBackfill != nil && row.BackfillCreated != nil {
			d.CreatedBackfill, d.BackfillCreated = *row.CreatedBackfill, time.Unix(0, *row.BackfillCreated).UTC()
		}
		decided = append(decided, d)
	}
	return decided, nil
}

// TakeOverCycle makes the replica the owner of a cycle whose lease has expired, and returns the verdicts of earlier
// owners on proposals of callers. c is nil when the lease has not expired, or when another replica has taken the cycle
// over. Errors: Unavailable.
func (s *Store) TakeOverCycle(ctx context.Context, ref CycleRef,
	callers []uuid.UUID) (c *Cycle, decided []DecidedProposal, err error) {
	var p tx.Pipeline
	var rows []query.TakeOverCycleRow
	query.Queue(&p, &rows, (*query.Queries).TakeOverCycle,
		query.TakeOverCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.ReplicaID, Lease: ref.LeaseTTL})
	decided, err = s.sendAndReadVerdicts(ctx, ref, callers, &p)
	if err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	return new(Cycle(rows[0])), decided, nil
}

// RenewCycle renews the owner's lease. Errors: Superseded when the replica is no longer the owner, Unavailable.
func (s *Store) RenewCycle(ctx context.Context, ref CycleRef) error {
	n, err := s.q.RenewCycle(ctx, query.RenewCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.ReplicaID,
		Lease: ref.LeaseTTL})
	if err != nil {
		return frame.Classify(err)
	}
	if n == 0 {
		return cycleLost()
	}
	return nil
}

// EndCycle ends a cycle, after which the next one may begin. failure is why it failed for all callers; empty when it
// did not. Errors: Superseded when the replica is no longer the owner, Unavailable.
func (s *Store) EndCycle(ctx context.Context, ref CycleRef, failure string) error {
	n, err := s.q.EndCycle(ctx, query.EndCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.ReplicaID,
		Failure: storableText(failure)})
	if err != nil {
		return frame.Classify(err)
	}
	if n == 0 {
		return cycleLost()
	}
	s.Notify(TopicCycle, ref.Region)
	return nil
}

// LeaveCycle removes callers, with their undecided proposals, from a cycle, and returns the verdicts on their others.
// If the replica owns the cycle it resigns: another replica with callers in the cycle may take it over at once; without
// one, the next cycle may begin. Errors: Unavailable.
func (s *Store) LeaveCycle(ctx context.Context, ref CycleRef,
	callers []uuid.UUID) (decided []DecidedProposal, err error) {
	var p tx.Pipeline
	query.QueueExec(&p, (*query.Queries).LeaveCycle,
		query.LeaveCycleParams{Region: ref.Region, Cycle: ref.ID, Ids: callers})
	query.QueueExec(&p, (*query.Queries).ResignCycle,
		query.ResignCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.ReplicaID})
	decided, err = s.sendAndReadVerdicts(ctx, ref, callers, &p)
	if err == nil {
		s.Notify(TopicCycle, ref.Region)
	}
	return decided, err
}

// ForgetCycles deletes cycles of a region that ended at least 30 seconds ago. Errors: Unavailable.
func (s *Store) ForgetCycles(ctx context.Context, region string) (int, error) {
	n, err := s.q.ForgetCycles(ctx, region)
	return int(n), frame.Classify(err)
}
