package opsview

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Amnesty says whether leases are judged.
type Amnesty struct {
	Amnesty bool       `db:"amnesty" json:"amnesty"` // nothing expires
	Since   *time.Time `db:"since" json:"since"`     // nil: no amnesty, or never
	EndsAt  *time.Time `db:"ends_at" json:"ends_at"` // nil: unknown
	// LastPulse is when a replica last reported that heartbeats could be received; nil: never.
	LastPulse *time.Time    `db:"last_pulse" json:"last_pulse"`
	LeaseTTL  time.Duration `db:"lease_ttl" json:"lease_ttl"`
	// PulseAge is the time since LastPulse, and EndsIn the time until EndsAt, in seconds; nil where LastPulse or EndsAt
	// is.
	PulseAge *float64 `db:"pulse_age" sql:"extract(epoch FROM now() - last_pulse)::float8" json:"pulse_age"`
	EndsIn   *float64 `db:"ends_in" sql:"extract(epoch FROM ends_at - now())::float8" json:"ends_in"`
}

// Amnesties has one row.
var Amnesties = View[Amnesty, Any]{name: "amnesty"}

// AgentReplica is a process of the director that holds connections of agents.
type AgentReplica struct {
	Region   string        `db:"region" json:"region"`
	Replica  uuid.UUID     `db:"replica" json:"replica"`
	State    string        `db:"state" json:"state"` // live, expired or ended
	Agents   int64         `db:"agents" json:"agents"`
	SeenAt   time.Time     `db:"seen_at" json:"seen_at"`
	LeaseAge time.Duration `db:"lease_age" json:"lease_age"`
	// SteadySince is since when it has renewed its lease without a gap; nil: not steady. No lease expires until some
	// replica has been steady for a whole one.
	SteadySince *time.Time `db:"steady_since" sql:"nullif(steady_since, 'infinity')" json:"steady_since"`
	// nil: it has not ended
	EndedAt *time.Time `db:"ended_at" json:"ended_at"`
}

// AgentReplicas are read in the order of region and id.
var AgentReplicas = View[AgentReplica, Any]{name: "replicas", order: Order{"region", "replica"}}

// LobbyReplica is a process of the director that holds connections of the realtime lobby.
type LobbyReplica struct {
	Region   string        `db:"region" json:"region"`
	Replica  uuid.UUID     `db:"replica" json:"replica"`
	State    string        `db:"state" json:"state"` // live, expired or ended
	Sessions int64         `db:"sessions" json:"sessions"`
	SeenAt   time.Time     `db:"seen_at" json:"seen_at"`
	LeaseAge time.Duration `db:"lease_age" json:"lease_age"`
	// SteadySince is as in [AgentReplica].
	SteadySince *time.Time `db:"steady_since" sql:"nullif(steady_since, 'infinity')" json:"steady_since"`
	// nil: it has not ended
	EndedAt *time.Time `db:"ended_at" json:"ended_at"`
}

// LobbyReplicas are read in the order of region and id.
var LobbyReplicas = View[LobbyReplica, Any]{name: "realtime_replicas", order: Order{"region", "replica"}}

// Process is a process of the director that is connected to the database.
type Process struct {
	// Process is the application_name of its connections: what it does, its host and its process id, unless DATABASE_URL
	// sets another.
	Process string `db:"process" json:"process"`
	// Address is where the process connects from; "": a socket of the database's machine.
	Address        string     `db:"address" sql:"coalesce(address, '')" json:"address"`
	Connections    int64      `db:"connections" json:"connections"`
	ConnectedSince time.Time  `db:"connected_since" json:"connected_since"`
	LastStatement  *time.Time `db:"last_statement" json:"last_statement"` // nil: not known
}

// Processes are sorted by name.
var Processes = View[Process, Any]{name: "processes", order: Order{"process", "address"}}

// WorkerLoop says when a loop of a worker last succeeded.
type WorkerLoop struct {
	Loop        string        `db:"loop" json:"loop"`
	LastSuccess time.Time     `db:"last_success" json:"last_success"`
	Age         time.Duration `db:"age" json:"age"`
	Every       time.Duration `db:"every" json:"every"`
	Late        bool          `db:"late" json:"late"`
}

// WorkerLoops are sorted by name.
var WorkerLoops = View[WorkerLoop, Any]{name: "worker_loops", order: Order{"loop"}}

// OldestRunFirst is the order of loops by when they last succeeded.
var OldestRunFirst = Order{"-age"}

// Snapshot is what keeps vacuum from cleaning.
type Snapshot struct {
	Kind    string `db:"kind" json:"kind"` // transaction, prepared transaction or replication slot
	Holders int64  `db:"holders" json:"holders"`
	// Age is the time since the first of them began; 0 for replication slots, of which no time is known.
	Age time.Duration `db:"age" sql:"coalesce(age, '0')" json:"age"`
	// Transactions is how many have begun since, on the whole server.
	Transactions int64 `db:"transactions" sql:"coalesce(transactions, 0)" json:"transactions"`
	// Oldest is the holder since which most transactions have begun; "": none.
	Oldest string `db:"oldest" sql:"coalesce(oldest, '')" json:"oldest"`
}

// Snapshots are sorted by kind.
var Snapshots = View[Snapshot, Any]{name: "oldest_snapshot", order: Order{"kind"}}

// OldestSnapshotFirst is the order of snapshots by their transactions.
var OldestSnapshotFirst = Order{"-transactions"}

// Partition says how far the partitions of a history table reach.
type Partition struct {
	TableName string     `db:"table_name" json:"table_name"`
	Days      int64      `db:"days" json:"days"`
	FirstDay  *time.Time `db:"first_day" json:"first_day"` // in UTC; nil: none
	LastDay   *time.Time `db:"last_day" json:"last_day"`
	DaysAhead int32      `db:"days_ahead" sql:"coalesce(days_ahead, -1)" json:"days_ahead"` // alarm below 2; -1: none
	// DefaultBytes is the size of the default partition: above 0, no worker made partitions for days.
	DefaultBytes int64 `db:"default_bytes" json:"default_bytes"`
}

// Partitions are sorted by table.
var Partitions = View[Partition, Any]{name: "partitions", order: Order{"table_name"}}

// EndingFirst is the order of tables by how far their partitions reach.
var EndingFirst = Order{"days_ahead", "table_name"}

// Invariant is how often an invariant is violated.
type Invariant struct {
	Name       string `db:"name" json:"name"`
	Violations int64  `db:"violations" json:"violations"`
}

// Invariants are sorted by name. A reading of them scans all hot tables: read them when somebody asks, not on a timer.
var Invariants = View[Invariant, Any]{name: "invariants", order: Order{"name"}}

// Replica is a process of the director that holds connections.
type Replica struct {
	Face        string // orchestrator or realtime
	Region      string
	Replica     uuid.UUID
	State       string // live, expired or ended
	Connections int64
	SeenAt      time.Time
	SteadySince *time.Time // nil: not steady
}

// Health is the state of the director.
type Health struct {
	Amnesty    Amnesty
	Replicas   []Replica    // that hold connections, at most 500 of each face
	Processes  []Process    // at most 500
	Loops      []WorkerLoop // of workers, at most 100
	Snapshots  []Snapshot
	Partitions []Partition
}

// ReadHealth returns the state of the director.
func ReadHealth(ctx context.Context, q Querier) (h Health, err error) {
	if h.Amnesty, err = Amnesties.One(ctx, q, Any{}); err != nil {
		return h, err
	}
	if h.Replicas, err = readReplicas(ctx, q); err != nil {
		return h, err
	}
	if h.Processes, err = Processes.Read(ctx, q, Any{}, Page{Limit: MaxPage}); err != nil {
		return h, err
	}
	if h.Loops, err = WorkerLoops.Read(ctx, q, Any{}, Page{Limit: 100}); err != nil {
		return h, err
	}
	if h.Snapshots, err = Snapshots.Read(ctx, q, Any{}, Page{}); err != nil {
		return h, err
	}
	h.Partitions, err = Partitions.Read(ctx, q, Any{}, Page{})
	return h, err
}

func readReplicas(ctx context.Context, q Querier) (all []Replica, err error) {
	agents, err := AgentReplicas.Read(ctx, q, Any{}, Page{Limit: MaxPage})
	if err != nil {
		return nil, err
	}
	for _, r := range agents {
		all = append(all, Replica{"orchestrator", r.Region, r.Replica, r.State, r.Agents, r.SeenAt, r.SteadySince})
	}
	lobbies, err := LobbyReplicas.Read(ctx, q, Any{}, Page{Limit: MaxPage})
	if err != nil {
		return nil, err
	}
	for _, r := range lobbies {
		all = append(all, Replica{"realtime", r.Region, r.Replica, r.State, r.Sessions, r.SeenAt, r.SteadySince})
	}
	return all, nil
}

// ReadInvariants counts violations, most first.
func ReadInvariants(ctx context.Context, q Querier) ([]Invariant, error) {
	all, err := Invariants.Read(ctx, q, Any{}, Page{})
	slices.SortStableFunc(all, func(a, b Invariant) int { return cmp.Compare(b.Violations, a.Violations) })
	return all, err
}

// ReadViolations returns rows that violate an invariant, as JSON.
func ReadViolations(ctx context.Context, q Querier, invariant string, limit int) ([]json.RawMessage, error) {
	view := pgx.Identifier{"ops", "invariant_" + strings.ReplaceAll(invariant, " ", "_")}.Sanitize()
	found, err := q.Query(ctx, "SELECT to_json(v) FROM "+view+" v"+limitClauses(limit, 0))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[json.RawMessage])
}
