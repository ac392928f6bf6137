package db

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// ConsolePool is a pool and its last plan, as ops.pools shows it.
type ConsolePool struct {
	Region         string
	App            string
	Version        string
	Provider       string
	Modes          []string
	State          string // active, full, off, paused or version paused
	Servers        int64  // wanted, starting or ready
	Starting       int64
	Ready          int64
	Busy           int64 // ready ones with an open session
	Ending         int64
	WaitingPlayers int64
	Min, Max       int32
	Buffer         string // a number of servers, or a share such as 20%
	MaxStarting    int32
	EmptyTTL       time.Duration
	PausedUntil    time.Time // the epoch: it is not paused; in the year 9999: until an operator resumes it
	PauseReason    string
	Plan           string    // in words; "": none was made
	PlannedAt      time.Time // the epoch: never
	Workers        int64     // running ones that have its provider
}

// maxConsolePools bounds the pools of a page.
const maxConsolePools = 200

// DeploymentsView are the pools, the budgets of providers, and why deployments ended in the last 24 hours.
type DeploymentsView struct {
	Pools     []ConsolePool // at most 200
	MorePools bool
	Providers []ProviderView       // at most 200
	Outcomes  []DeploymentOutcomes // most servers first, at most 200
}

// ProviderView is how many calls all workers together may make to a provider, as ops.provider_budgets shows it.
type ProviderView struct {
	Provider     string
	Class        string  // deploy, get, list or stop
	Tokens       float64 // calls that were left at RefilledAt
	RefilledAt   time.Time
	BlockedUntil time.Time // the epoch: never
	Blocked      bool      // BlockedUntil is in the future
}

// DeploymentOutcomes are deployments of an app version that ended for one reason.
type DeploymentOutcomes struct {
	App        string
	Version    string
	Provider   string
	Reason     string
	Servers    int64
	WereReady  int64
	SlowestP95 float64 // seconds until ready, in the slowest minute; 0: none was ready
	LastError  string
}

// ConsolePools returns the pools, budgets and outcomes. Errors: TooMany, Unavailable.
func (s *Store) ConsolePools(ctx context.Context) (v DeploymentsView, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		pools, err := q.ConsolePools(ctx, maxConsolePools+1)
		if err != nil {
			return err
		}
		for _, r := range pools {
			v.Pools = append(v.Pools, consolePool(r))
		}
		return v.readRest(ctx, q)
	})
	v.Pools, v.MorePools = page(v.Pools, maxConsolePools)
	return v, err
}

func consolePool(r query.ConsolePoolsRow) ConsolePool {
	return ConsolePool{
		r.Region, r.App, r.Version, r.Provider, r.Modes, r.State, r.Servers, r.Starting, r.Ready, r.Busy, r.Ending, r.WaitingPlayers, r.Min, r.Max, r.Buffer,
		r.MaxStarting, r.EmptyTtl, r.PausedUntil, r.PauseReason, r.Plan, r.PlannedAt, r.Workers,
	}
}

func (v *DeploymentsView) readRest(ctx context.Context, q *query.Queries) error {
	providers, err := q.ConsoleProviders(ctx)
	if err != nil {
		return err
	}
	for _, r := range providers {
		v.Providers = append(v.Providers, ProviderView(r))
	}
	outcomes, err := q.ConsoleDeploymentOutcomes(ctx)
	for _, r := range outcomes {
		v.Outcomes = append(v.Outcomes, DeploymentOutcomes(r))
	}
	return err
}

// ConsoleDeployment is a deployment as ops.deployments shows it. Its id is that of its instance.
type ConsoleDeployment struct {
	Region          string
	Deployment      uuid.UUID
	App             string
	Version         string
	Provider        string
	Phase           string // wanted, deploying, starting, ready, draining, failed or stopping
	Desired         string // running or stopped
	Origin          string // pool or operator
	Ref             string // the provider's name of it
	Tag             string
	Location        string
	Endpoint        string
	OpenSessions    int32
	ReservedSeats   int32
	CreatedAt       time.Time
	Attempts        int32
	IntentAt        *time.Time // nil, here and below: it has not happened
	ProviderReadyAt *time.Time
	RegisteredAt    *time.Time
	ReadyAt         *time.Time
	LostAt          *time.Time
	DrainAt         *time.Time
	EndsAt          *time.Time
	StopAt          *time.Time
	NextAt          *time.Time
	Boots           int32
	Reason          string // why it ends
	LastError       string // of the provider
	ClaimedRef      string // the provider's name of it that its game server gave; "": none
	Refused         string // why a registration of its game server was last refused; "": none was
	RefusedAt       *time.Time
}

// DeploymentFilter selects deployments. Empty fields select all.
type DeploymentFilter struct {
	Region, App, Phase string
	// AfterRegion and After are the region and the id of the last row of the page before.
	AfterRegion string
	After       uuid.UUID
	Page        ConsolePage
}

// ConsoleDeployments returns a page of deployments in the order of region and id, and whether more follow. Errors: TooMany, Unavailable.
func (s *Store) ConsoleDeployments(ctx context.Context, f DeploymentFilter) (all []ConsoleDeployment, more bool, err error) {
	most := f.Page.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleDeployments(ctx, query.ConsoleDeploymentsParams{
			Region: f.Region, App: f.App, Phase: f.Phase, AfterRegion: f.AfterRegion, After: f.After, Most: most + 1,
		})
		for _, r := range rows {
			all = append(all, ConsoleDeployment(r))
		}
		return err
	})
	all, more = page(all, most)
	return all, more, err
}

// ConsoleDeployment returns a deployment by its id. Errors: NotFound, "deployment_unknown"; TooMany; Unavailable.
func (s *Store) ConsoleDeployment(ctx context.Context, id uuid.UUID) (ConsoleDeployment, error) {
	var d ConsoleDeployment
	err := s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		r, err := q.ConsoleDeployment(ctx, id)
		d = ConsoleDeployment(r)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return d, fault.New(fault.NotFound, "deployment_unknown", "no deployment %s: those that are gone are in the log of events", id)
	}
	return d, err
}
