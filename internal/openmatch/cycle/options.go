package cycle

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
)

// Options configure an [Engine]. Store, Universe and Replica are required. All replicas of a universe must have the same
// durations and the same evaluator.
type Options struct {
	Store    Store
	Universe string    // the region of the queue's rows, and so of the cycles'
	Replica  uuid.UUID // identifies this process; no process before it may have used it

	// Registration is how long callers may join a cycle. 0: only the callers that open a cycle are in it.
	Registration time.Duration
	// Collection is how long match functions may run after Registration; 0 means 20 s.
	Collection time.Duration
	// Evaluation is how long the evaluator may run once it has all its input; 0 means one minute.
	Evaluation time.Duration
	// Acceptance is how long a cycle may commit matches after the evaluator has ended; 0 means 2 s. At least one batch
	// is committed. Matches beyond it are dropped, counted as out_of_time, and their tickets stay free.
	Acceptance time.Duration
	// Lease is how long an owner may be silent before another replica takes its cycle over; 0 means 2 s.
	Lease time.Duration

	// Memory bounds, in bytes, the proposals of all calls on this replica; 0 means 512 MiB.
	Memory int64

	Evaluator Evaluator // nil: match.Evaluate
	// Backfill returns the contents of a backfill after a match; it may be nil where no proposal has a backfill.
	Backfill db.BackfillFunc

	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: no metrics
	// Guard recovers panics of the engine, match functions and the evaluator; nil: one that writes to Log.
	Guard *panics.Guard
}

// Store is what an engine needs of the database; [db.Store] implements it.
type Store interface {
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
	JoinCycle(ctx context.Context, region string, replica uuid.UUID, callers []uuid.UUID,
		n db.NewCycle) (c db.Cycle, joined bool, err error)
	LeaveCycle(ctx context.Context, ref db.CycleRef, callers []uuid.UUID) (decided []db.DecidedProposal, err error)
	ownerStore
	followerStore
}

type ownerStore interface {
	AdvanceCycle(ctx context.Context, ref db.CycleRef, state string, lastSeqs map[uuid.UUID]int32) (db.CycleChanges, error)
	ReadCycleChanges(ctx context.Context, ref db.CycleRef, lastSeqs map[uuid.UUID]int32) (db.CycleChanges, error)
	AcceptMatches(ctx context.Context, ref db.CycleRef, matches []db.AcceptedMatch,
		read db.BackfillFunc) ([]db.FinalMatch, error)
	RenewCycle(ctx context.Context, ref db.CycleRef) error
	EndCycle(ctx context.Context, ref db.CycleRef, failure string) error
}

type followerStore interface {
	FollowCycle(ctx context.Context, ref db.CycleRef, callers []uuid.UUID) (db.CycleStatus, error)
	Propose(ctx context.Context, ref db.CycleRef, proposals []db.CycleProposal,
		finished []uuid.UUID) (collecting bool, err error)
	TakeOverCycle(ctx context.Context, ref db.CycleRef,
		callers []uuid.UUID) (c *db.Cycle, decided []db.DecidedProposal, err error)
}

func (o Options) withDefaults() Options {
	o.Collection = cmp.Or(o.Collection, 20*time.Second)
	o.Evaluation = cmp.Or(o.Evaluation, time.Minute)
	o.Acceptance = cmp.Or(o.Acceptance, 2*time.Second)
	o.Lease = cmp.Or(o.Lease, 2*time.Second)
	o.Memory = cmp.Or(o.Memory, 512<<20)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Guard = cmp.Or(o.Guard, panics.New(o.Log, nil))
	o.Evaluator = cmp.Or[Evaluator](o.Evaluator, byScore{})
	o.Metrics = cmp.Or[prometheus.Registerer](o.Metrics, prometheus.NewRegistry())
	return o
}
