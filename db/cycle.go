package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/tx"
)

// The states of a cycle, in their order.
const (
	CycleRegisters = "registering" // callers may join and propose
	CycleCollects  = "collecting"  // callers that joined may propose
	CycleEvaluates = "evaluating"  // nothing more is let in
	CycleEnded     = "ended"       // all callers have their answers
)

// Cycle is one run of an evaluator over what the callers of all replicas propose. A region has one at a time. What
// replicas tell each other about it is worth nothing after a crash of Postgres, and gone then.
type Cycle struct {
	ID          uuid.UUID
	Owner       uuid.UUID // the replica that runs it
	State       string
	RegistersIn time.Duration // how long it registers from now on; below zero: it is over
	CollectsIn  time.Duration // how long it collects proposals from now on; below zero: it is over
}

// NewCycle says how long things last in a cycle.
type NewCycle struct {
	Registration time.Duration // callers may join; 0: nobody but those who open it
	Collection   time.Duration // callers may propose, after that
	Lease        time.Duration // an owner that is silent for so long may be replaced
}

// CycleRef is a replica's part in a cycle.
type CycleRef struct {
	Region  string
	ID      uuid.UUID
	Replica uuid.UUID
	Lease   time.Duration
}

// cycleLost says that another replica runs the cycle, or that it has ended.
func cycleLost() error { return newError(Superseded, "cycle_lost", "another replica runs the cycle") }

// EnterCycle puts callers of a replica into the cycle that registers, or opens one for them, unless one runs that lets
// nobody in: then in is false. Callers have ids that were never used before. Errors: Unavailable, after which the callers
// may be in it or not.
func (s *Store) EnterCycle(ctx context.Context, region string, replica uuid.UUID, callers []uuid.UUID, n NewCycle) (c Cycle, in bool, err error) {
	var p tx.Pipeline
	var joined, joinedLater []JoinCycleRow
	var opened []OpenCycleRow
	join := JoinCycleParams{Region: region, Replica: replica, Callers: callers}
	queueExec(&p, (*Queries).EndDesertedCycle, EndDesertedCycleParams{Region: region, Lease: n.Lease})
	queue(&p, &joined, (*Queries).JoinCycle, join)
	queue(&p, &opened, (*Queries).OpenCycle, OpenCycleParams{
		Region: region, ID: newID(), Replica: replica, Callers: callers, Lease: n.Lease, Registration: n.Registration, Collection: n.Collection,
	})
	queue(&p, &joinedLater, (*Queries).JoinCycle, join) // what another replica opened while ours waited for it
	if err := s.q.send(ctx, &p); err != nil {
		return Cycle{}, false, classify(err)
	}
	for _, row := range append(joined, joinedLater...) {
		return Cycle(row), true, nil
	}
	for _, row := range opened {
		return Cycle(row), true, nil
	}
	return Cycle{}, false, nil
}

// CycleNow is what a replica that does not run a cycle sees of it.
type CycleNow struct {
	Known    bool // false: it was forgotten, or Postgres began anew
	State    string
	Failure  string         // why it ended for all; empty: it did not fail
	Silent   bool           // its owner may be replaced
	Accepted []CycleVerdict // what became final of what the callers proposed
}

// CycleVerdict says that a proposal became a match.
type CycleVerdict struct {
	Caller          uuid.UUID
	Seq             int32
	CreatedBackfill string    // the id of the backfill that was created for it; empty: none was
	BackfillCreated time.Time // when
}

// LookAtCycle tells how a cycle is and what was decided about proposals of some callers. Errors: Unavailable.
func (s *Store) LookAtCycle(ctx context.Context, ref CycleRef, callers []uuid.UUID) (now CycleNow, err error) {
	var p tx.Pipeline
	var cycles []CycleNowRow
	var verdicts []VerdictsRow
	queue(&p, &cycles, (*Queries).CycleNow, CycleNowParams{Region: ref.Region, ID: ref.ID})
	queue(&p, &verdicts, (*Queries).Verdicts, VerdictsParams{Region: ref.Region, Cycle: ref.ID, Callers: callers}) // after its end nothing is added
	if err := s.q.send(ctx, &p); err != nil {
		return now, classify(err)
	}
	for _, row := range cycles {
		now = CycleNow{Known: true, State: row.State, Failure: row.Failure, Silent: !row.Alive}
	}
	for _, row := range verdicts {
		v := CycleVerdict{Caller: row.Caller, Seq: row.Seq}
		if row.CreatedBackfill != nil && row.BackfillCreated != nil {
			v.CreatedBackfill, v.BackfillCreated = *row.CreatedBackfill, time.Unix(0, *row.BackfillCreated).UTC()
		}
		now.Accepted = append(now.Accepted, v)
	}
	return now, nil
}

// TakeOverCycle makes the replica the owner of a cycle whose owner is silent. It is false where the owner is not, or
// somebody else was first. Errors: Unavailable.
func (s *Store) TakeOverCycle(ctx context.Context, ref CycleRef) (c Cycle, taken bool, err error) {
	rows, err := s.q.TakeOverCycle(ctx, TakeOverCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.Replica, Lease: ref.Lease})
	for _, row := range rows {
		return Cycle(row), true, nil
	}
	return Cycle{}, false, classify(err)
}

// RenewCycle says that its owner lives. Errors: Superseded when it is the owner no more, Unavailable.
func (s *Store) RenewCycle(ctx context.Context, ref CycleRef) error {
	n, err := s.q.RenewCycle(ctx, RenewCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.Replica, Lease: ref.Lease})
	if err == nil && n == 0 {
		return cycleLost()
	}
	return classify(err)
}

// EndCycle ends a cycle, and lets the next one begin. failure says why it ended for all callers; empty for well. Errors:
// Superseded when the replica is the owner no more, Unavailable.
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

// ResignCycle lets any replica that has callers in a cycle run it from now on, or the next one to begin. Errors:
// Unavailable.
func (s *Store) ResignCycle(ctx context.Context, ref CycleRef) error {
	err := s.q.ResignCycle(ctx, ResignCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.Replica})
	if err == nil {
		s.Notify(TopicCycle, ref.Region)
	}
	return classify(err)
}

// SeeCallers says that callers still wait; one that nobody has seen for a lease counts as gone. Errors: Unavailable.
func (s *Store) SeeCallers(ctx context.Context, ref CycleRef, callers []uuid.UUID) error {
	return classify(s.q.SeeCallers(ctx, SeeCallersParams{Region: ref.Region, Cycle: ref.ID, Ids: callers}))
}

// LeaveCycle takes callers out of a cycle, with what they proposed and nobody has judged yet. Errors: Unavailable.
func (s *Store) LeaveCycle(ctx context.Context, ref CycleRef, callers []uuid.UUID) error {
	err := s.q.LeaveCycle(ctx, LeaveCycleParams{Region: ref.Region, Cycle: ref.ID, Ids: callers})
	if err == nil {
		s.Notify(TopicCycle, ref.Region)
	}
	return classify(err)
}

// ForgetCycles forgets cycles of a region that ended half a minute ago. Errors: Unavailable.
func (s *Store) ForgetCycles(ctx context.Context, region string) (int, error) {
	n, err := s.q.ForgetCycles(ctx, region)
	return int(n), classify(err)
}
