package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
)

// The states of a cycle, in their order.
const (
	CycleRegistering = "registering" // callers may join and propose
	CycleCollecting  = "collecting"  // callers that have joined may propose
	CycleEvaluating  = "evaluating"  // the cycle takes no more proposals
	CycleEnded       = "ended"       // all callers have their answers
)

// Cycle is one run of an evaluator over what the callers of all replicas propose. A region has one at a time. Its rows are in
// unlogged tables, so a crash of Postgres deletes them.
type Cycle struct {
	ID          uuid.UUID
	Owner       uuid.UUID // the replica that runs it
	State       string
	RegistersIn time.Duration // until when callers may join, from now on; negative when that is over
	CollectsIn  time.Duration // until when callers may propose, from now on; negative when that is over
}

// NewCycle is the durations of a cycle's phases.
type NewCycle struct {
	Registration time.Duration // callers may join; 0: only the callers that open the cycle are in it
	Collection   time.Duration // callers may propose, after Registration
	Lease        time.Duration // without a renewal for so long, another replica may take the cycle over
}

// CycleRef names a cycle, and the replica that takes part in it.
type CycleRef struct {
	Region  string
	ID      uuid.UUID
	Replica uuid.UUID
	Lease   time.Duration
}

// cycleLost is the error when another replica owns the cycle, or the cycle has ended.
func cycleLost() error { return newError(Superseded, "cycle_lost", "another replica runs the cycle") }

// JoinCycle adds callers of a replica to the cycle that is registering, or opens a cycle for them. joined is false when the
// running cycle is past registration. The ids of callers must never have been used before. Errors: Unavailable, after which the
// callers may have joined or not.
func (s *Store) JoinCycle(ctx context.Context, region string, replica uuid.UUID, callers []uuid.UUID, n NewCycle) (c Cycle, joined bool, err error) {
	var p tx.Pipeline
	var first, second []JoinCycleRow
	var opened []OpenCycleRow
	join := JoinCycleParams{Region: region, Replica: replica, Callers: callers}
	queueExec(&p, (*Queries).EndDesertedCycle, EndDesertedCycleParams{Region: region, Lease: n.Lease})
	queue(&p, &first, (*Queries).JoinCycle, join)
	queue(&p, &opened, (*Queries).OpenCycle, OpenCycleParams{
		Region: region, ID: newID(), Replica: replica, Callers: callers, Lease: n.Lease, Registration: n.Registration, Collection: n.Collection,
	})
	queue(&p, &second, (*Queries).JoinCycle, join) // another replica may have opened a cycle while OpenCycle waited for it
	if err := s.q.send(ctx, &p); err != nil {
		return Cycle{}, false, classify(err)
	}
	for _, row := range append(first, second...) {
		return Cycle(row), true, nil
	}
	for _, row := range opened {
		return Cycle(row), true, nil
	}
	return Cycle{}, false, nil
}

// CycleStatus is a cycle as a follower reads it.
type CycleStatus struct {
	Exists       bool // false: its row was deleted, or lost in a crash of Postgres
	State        string
	Failure      string              // why it ended for all callers; empty: it did not fail
	LeaseExpired bool                // another replica may take it over
	Committed    []CommittedProposal // the callers' proposals that are committed as matches
}

// CommittedProposal is a proposal that is committed as a match.
type CommittedProposal struct {
	Caller          uuid.UUID
	Seq             int32
	CreatedBackfill string    // the id of the backfill that was created for it; empty: none was
	BackfillCreated time.Time // when
}

// CycleStatus reads a cycle and the proposals of callers that are committed. Errors: Unavailable.
func (s *Store) CycleStatus(ctx context.Context, ref CycleRef, callers []uuid.UUID) (status CycleStatus, err error) {
	var p tx.Pipeline
	var cycles []GetCycleRow
	var committed []AcceptedProposalsRow
	queue(&p, &cycles, (*Queries).GetCycle, GetCycleParams{Region: ref.Region, ID: ref.ID})
	// After the cycle: if it has ended, no more proposals are committed.
	queue(&p, &committed, (*Queries).AcceptedProposals, AcceptedProposalsParams{Region: ref.Region, Cycle: ref.ID, Callers: callers})
	if err := s.q.send(ctx, &p); err != nil {
		return status, classify(err)
	}
	for _, row := range cycles {
		status = CycleStatus{Exists: true, State: row.State, Failure: row.Failure, LeaseExpired: !row.Alive}
	}
	for _, row := range committed {
		c := CommittedProposal{Caller: row.Caller, Seq: row.Seq}
		if row.CreatedBackfill != nil && row.BackfillCreated != nil {
			c.CreatedBackfill, c.BackfillCreated = *row.CreatedBackfill, time.Unix(0, *row.BackfillCreated).UTC()
		}
		status.Committed = append(status.Committed, c)
	}
	return status, nil
}

// TakeOverCycle makes the replica the owner of a cycle whose lease has expired. taken is false when it has not, or when another
// replica was first. Errors: Unavailable.
func (s *Store) TakeOverCycle(ctx context.Context, ref CycleRef) (c Cycle, taken bool, err error) {
	rows, err := s.q.TakeOverCycle(ctx, TakeOverCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.Replica, Lease: ref.Lease})
	for _, row := range rows {
		return Cycle(row), true, nil
	}
	return Cycle{}, false, classify(err)
}

// RenewCycle renews the owner's lease. Errors: Superseded when the replica is no longer the owner, Unavailable.
func (s *Store) RenewCycle(ctx context.Context, ref CycleRef) error {
	n, err := s.q.RenewCycle(ctx, RenewCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.Replica, Lease: ref.Lease})
	if err == nil && n == 0 {
		return cycleLost()
	}
	return classify(err)
}

// EndCycle ends a cycle, after which the next one may begin. failure is why it failed for all callers; empty when it did not.
// Errors: Superseded when the replica is no longer the owner, Unavailable.
func (s *Store) EndCycle(ctx context.Context, ref CycleRef, failure string) error {
	n, err := s.q.EndCycle(ctx, EndCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.Replica, Failure: plainText(failure)})
	switch {
	case err != nil:
		return classify(err)
	case n == 0:
		return cycleLost()
	}
	s.Notify(TopicCycle, ref.Region)
	return nil
}

// ResignCycle gives up the owner's lease: another replica with callers in the cycle may take it over at once; without one, the
// next cycle may begin. Errors: Unavailable.
func (s *Store) ResignCycle(ctx context.Context, ref CycleRef) error {
	err := s.q.ResignCycle(ctx, ResignCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.Replica})
	if err == nil {
		s.Notify(TopicCycle, ref.Region)
	}
	return classify(err)
}

// RenewCallers renews callers, which count as gone a lease after the last renewal. Errors: Unavailable.
func (s *Store) RenewCallers(ctx context.Context, ref CycleRef, callers []uuid.UUID) error {
	return classify(s.q.RenewCallers(ctx, RenewCallersParams{Region: ref.Region, Cycle: ref.ID, Ids: callers}))
}

// LeaveCycle removes callers, with their undecided proposals, from a cycle. Errors: Unavailable.
func (s *Store) LeaveCycle(ctx context.Context, ref CycleRef, callers []uuid.UUID) error {
	err := s.q.LeaveCycle(ctx, LeaveCycleParams{Region: ref.Region, Cycle: ref.ID, Ids: callers})
	if err == nil {
		s.Notify(TopicCycle, ref.Region)
	}
	return classify(err)
}

// ForgetCycles deletes cycles of a region that ended at least 30 seconds ago. Errors: Unavailable.
func (s *Store) ForgetCycles(ctx context.Context, region string) (int, error) {
	n, err := s.q.ForgetCycles(ctx, region)
	return int(n), classify(err)
}
