package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// HealthView is the state of the director as schema ops shows it.
type HealthView struct {
	Amnesty    AmnestyView
	Replicas   []ReplicaView // that hold connections, at most 500
	Processes  []ProcessView // at most 500
	Loops      []LoopView    // of workers, at most 100
	Snapshots  []SnapshotView
	Partitions []PartitionView
}

// AmnestyView says whether leases are judged.
type AmnestyView struct {
	Amnesty   bool       // nothing expires
	Since     *time.Time // nil: no amnesty, or never
	EndsAt    *time.Time // nil: unknown
	LastPulse *time.Time // when a replica last said that heartbeats could be received; nil: never
	LeaseTTL  time.Duration
}

// ReplicaView is a process of the director that holds connections.
type ReplicaView struct {
	Face        string // orchestrator or realtime
	Region      string
	Replica     uuid.UUID
	State       string // live, expired or ended
	Connections int64
	SeenAt      time.Time
	LeaseAge    time.Duration
	SteadySince time.Time  // the epoch: not steady
	EndedAt     *time.Time // nil: it has not ended
}

// ProcessView is a process of the director that is connected to the database.
type ProcessView struct {
	Process        string // what it does, its host and its process id, unless DATABASE_URL names it
	Address        string // "": a socket of the database's machine
	Connections    int64
	ConnectedSince time.Time
	LastStatement  time.Time // the epoch: not known
}

// LoopView says when a loop of a worker last succeeded.
type LoopView struct {
	Loop        string
	LastSuccess time.Time
	Age         time.Duration
	Every       time.Duration
	Late        bool
}

// SnapshotView is what keeps vacuum from cleaning.
type SnapshotView struct {
	Kind         string // transaction, prepared transaction or replication slot
	Holders      int64
	Age          time.Duration
	Transactions int32
	Oldest       string
}

// PartitionView says how far the partitions of a history table reach.
type PartitionView struct {
	TableName    string
	Days         int64
	FirstDay     string // in UTC, 2006-01-02; "": none
	LastDay      string
	DaysAhead    int32 // alarm below 2
	DefaultBytes int64 // above 0 no worker made partitions for days
}

// ConsoleHealth returns the state of the director. Errors: TooMany, Unavailable.
func (s *Store) ConsoleHealth(ctx context.Context) (v HealthView, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		a, err := q.ConsoleAmnesty(ctx)
		if err != nil {
			return err
		}
		v.Amnesty = AmnestyView{a.Amnesty, instant(a.Since), instant(a.EndsAt), instant(a.LastPulse), a.LeaseTtl}
		if err := v.readProcesses(ctx, q); err != nil {
			return err
		}
		return v.readPostgres(ctx, q)
	})
	return v, err
}

func (v *HealthView) readProcesses(ctx context.Context, q *query.Queries) error {
	replicas, err := q.ConsoleReplicas(ctx)
	if err != nil {
		return err
	}
	for _, r := range replicas {
		v.Replicas = append(v.Replicas, ReplicaView(r))
	}
	processes, err := q.ConsoleProcesses(ctx)
	if err != nil {
		return err
	}
	for _, r := range processes {
		v.Processes = append(v.Processes, ProcessView(r))
	}
	loops, err := q.ConsoleWorkerLoops(ctx)
	for _, r := range loops {
		v.Loops = append(v.Loops, LoopView(r))
	}
	return err
}

func (v *HealthView) readPostgres(ctx context.Context, q *query.Queries) error {
	snapshots, err := q.ConsoleSnapshots(ctx)
	if err != nil {
		return err
	}
	for _, r := range snapshots {
		v.Snapshots = append(v.Snapshots, SnapshotView(r))
	}
	partitions, err := q.ConsolePartitions(ctx)
	for _, r := range partitions {
		v.Partitions = append(v.Partitions, PartitionView(r))
	}
	return err
}

// InvariantCount is how often an invariant is violated.
type InvariantCount struct {
	Name       string
	Violations int64
}

// ConsoleInvariants counts violations, most first. It reads all hot tables, so call it when somebody asks for it, not on a timer. Errors:
// TooMany, Unavailable.
func (s *Store) ConsoleInvariants(ctx context.Context) (counts []InvariantCount, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleInvariants(ctx)
		for _, r := range rows {
			counts = append(counts, InvariantCount(r))
		}
		return err
	})
	return counts, err
}
