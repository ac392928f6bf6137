package opsview

import (
	"time"

	"github.com/google/uuid"
)

// Deployment is a server that a provider runs for the director. Its id is that of its instance.
type Deployment struct {
	Region     string    `db:"region" json:"region"`
	Deployment uuid.UUID `db:"deployment" json:"deployment"`
	App        string    `db:"app" json:"app"`
	Version    string    `db:"version" json:"version"`
	Provider   string    `db:"provider" json:"provider"`
	// Phase is wanted, deploying, starting, ready, draining, failed or stopping.
	Phase   string  `db:"phase" json:"phase"`
	Desired string  `db:"desired" json:"desired"` // running or stopped
	Origin  string  `db:"origin" json:"origin"`   // pool or operator
	Ref     *string `db:"ref" json:"ref"`         // the provider's name of it; nil: not known yet
	// ClaimedRef is the provider's name that the game server gave when it registered; nil: none.
	ClaimedRef    *string `db:"claimed_ref" json:"claimed_ref"`
	Location      *string `db:"location" json:"location"`
	Endpoint      *string `db:"endpoint" json:"endpoint"`
	OpenSessions  int32   `db:"open_sessions" json:"open_sessions"`
	ReservedSeats int32   `db:"reserved_seats" json:"reserved_seats"`
	// Age is in seconds.
	Age       float64   `db:"age" sql:"extract(epoch FROM age)::float8" json:"age"`
	Attempts  int32     `db:"attempts" json:"attempts"`
	CreatedAt time.Time `db:"created_at" json:"created_at"`
	// Of the following, nil means that it has not happened.
	IntentAt        *time.Time `db:"intent_at" json:"intent_at"`
	ProviderReadyAt *time.Time `db:"provider_ready_at" json:"provider_ready_at"`
	RegisteredAt    *time.Time `db:"registered_at" json:"registered_at"`
	ReadyAt         *time.Time `db:"ready_at" json:"ready_at"`
	LostAt          *time.Time `db:"lost_at" json:"lost_at"`
	DrainAt         *time.Time `db:"drain_at" json:"drain_at"`
	EndsAt          *time.Time `db:"ends_at" json:"ends_at"`
	StopAt          *time.Time `db:"stop_at" json:"stop_at"`
	NextAt          *time.Time `db:"next_at" json:"next_at"`
	Reason          *string    `db:"reason" json:"reason"`         // why it ends
	LastError       *string    `db:"last_error" json:"last_error"` // of the provider
	// Refused is why a registration of its game server was last refused; nil: none was.
	Refused   *string    `db:"refused" json:"refused"`
	RefusedAt *time.Time `db:"refused_at" json:"refused_at"`
	Tag       string     `db:"tag" json:"-"`
	Boots     int32      `db:"boots" json:"-"`
}

// ClaimsAnotherRef reports whether its game server named another server of the provider than the provider did.
func (d Deployment) ClaimsAnotherRef() bool {
	return d.ClaimedRef != nil && (d.Ref == nil || *d.ClaimedRef != *d.Ref)
}

// Deployments are read in the order of region and id.
var Deployments = View[Deployment, DeploymentFilter]{name: "deployments", order: Order{"region", "deployment"}}

// DeploymentsOldestFirst is the order of deployments by when they were decided, region by region.
var DeploymentsOldestFirst = Order{"region", "created_at", "deployment"}

// DeploymentFilter selects deployments. Empty fields select all.
type DeploymentFilter struct {
	Region, App, Phase, Desired string
	ID                          *uuid.UUID
	Providers                   []string
}

func (f DeploymentFilter) selectRows(w *where) {
	w.addEqual("region", f.Region)
	w.addEqual("app", f.App)
	w.addEqual("phase", f.Phase)
	w.addEqual("desired", f.Desired)
	addID(w, "deployment", f.ID)
	if f.Providers != nil {
		w.add("provider = ANY (?)", f.Providers)
	}
}

// Pool is a pool of servers and its last plan.
type Pool struct {
	Region         string   `db:"region" json:"region"`
	App            string   `db:"app" json:"app"`
	Version        string   `db:"version" json:"version"`
	Provider       string   `db:"provider" json:"provider"`
	Modes          []string `db:"modes" json:"modes"`
	State          string   `db:"state" json:"state"`     // active, full, off, paused or version paused
	Servers        int64    `db:"servers" json:"servers"` // wanted, starting or ready
	Starting       int64    `db:"starting" json:"starting"`
	Ready          int64    `db:"ready" json:"ready"`
	Busy           int64    `db:"busy" json:"busy"` // ready ones with an open session
	Ending         int64    `db:"ending" json:"ending"`
	WaitingPlayers int64    `db:"waiting_players" json:"waiting_players"`
	Min            int32    `db:"min" json:"min"`
	Max            int32    `db:"max" json:"max"`
	Buffer         string   `db:"buffer" json:"buffer"` // a number of servers, or a share such as 20%
	MaxStarting    int32    `db:"max_starting" json:"max_starting"`
	// EmptyTTL is in seconds.
	EmptyTTL float64 `db:"empty_ttl" sql:"extract(epoch FROM empty_ttl)::float8" json:"empty_ttl"`
	// PausedUntil is in the year 9999 where an operator has to resume the pool; nil: it is not paused.
	PausedUntil *time.Time `db:"paused_until" json:"paused_until"`
	PauseReason *string    `db:"pause_reason" json:"pause_reason"`
	Plan        *string    `db:"plan" json:"plan"`             // in words; nil: none was made
	PlannedAt   *time.Time `db:"planned_at" json:"planned_at"` // nil: never
	Zone        string     `db:"zone" json:"zone"`
	Forecast    bool       `db:"forecast" json:"forecast"` // the forecast raises the least number of servers
	// MinNow is the greatest of Min, of the schedules that hold or begin soon, and of the forecast if it is switched on.
	MinNow   int32  `db:"min_now" json:"min_now"`
	MinCause string `db:"min_cause" json:"min_cause"` // min, a schedule in words, or forecast
	// NextMin is MinNow after its next change, at NextMinAt; nil: no change is planned.
	NextMin   *int32     `db:"next_min" json:"next_min"`
	NextMinAt *time.Time `db:"next_min_at" json:"next_min_at"`
	// NextMinReadyAt is when the servers that start at NextMinAt are to be ready; nil: none start, since MinNow falls.
	NextMinReadyAt *time.Time `db:"next_min_ready_at" json:"next_min_ready_at"`
	NextMinCause   *string    `db:"next_min_cause" json:"next_min_cause"`
	// Workers is how many running workers have its provider.
	Workers int64 `db:"workers" sql:"coalesce((SELECT w.workers FROM ops.providers w WHERE w.provider = v.provider), 0)" json:"workers"`
}

// Pools are read in the order of region, app and version.
var Pools = View[Pool, PoolFilter]{name: "pools", order: Order{"region", "app", "version"}}

// PoolFilter selects pools. Empty fields select all.
type PoolFilter struct{ Region, App, Version string }

func (f PoolFilter) selectRows(w *where) {
	w.addEqual("region", f.Region)
	w.addEqual("app", f.App)
	w.addEqual("version", f.Version)
}

// PoolLimit has how many servers all pools have and start together, and the limits of both.
type PoolLimit struct {
	Servers    int64  `db:"servers" json:"servers"`
	MaxServers *int32 `db:"max_servers" json:"max_servers"` // nil: no limit
	Starts     int64  `db:"starts" json:"starts"`           // within the last hour
	MaxStarts  *int32 `db:"max_starts" json:"max_starts"`   // nil: no limit
}

// PoolLimits has one row.
var PoolLimits = View[PoolLimit, Any]{name: "pool_limits"}

// Provider is a provider that pools name, or that workers have.
type Provider struct {
	Provider    string `db:"provider" json:"provider"`
	Workers     int64  `db:"workers" json:"workers"` // that have it
	Pools       int64  `db:"pools" json:"pools"`
	Deployments int64  `db:"deployments" json:"deployments"`
	Overdue     int64  `db:"overdue" json:"overdue"` // servers that wait for a worker
}

// Providers are sorted by name.
var Providers = View[Provider, Any]{name: "providers", order: Order{"provider"}}

// Budget is how many calls all workers together may make to a provider.
type Budget struct {
	Provider     string     `db:"provider" json:"provider"`
	Class        string     `db:"class" json:"class"`   // deploy, get, list or stop
	Tokens       float64    `db:"tokens" json:"tokens"` // calls that were left at RefilledAt
	RefilledAt   time.Time  `db:"refilled_at" json:"refilled_at"`
	BlockedUntil *time.Time `db:"blocked_until" json:"blocked_until"` // nil: it was never blocked
	Blocked      bool       `db:"blocked" json:"blocked"`             // BlockedUntil is in the future
}

// Budgets are sorted by provider and class.
var Budgets = View[Budget, Any]{name: "provider_budgets", order: Order{"provider", "class"}}
