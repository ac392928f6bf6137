package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// ConsoleInstance is a game server as ops.fleet shows it.
type ConsoleInstance struct {
	Region        string
	Instance      string // its id, unique over all regions
	Endpoint      string
	Status        string // starting, ready, draining or gone
	Alive         bool   // its lease holds
	Modes         []string
	Labels        map[string]string
	Version       string
	Load          *float64 // nil when it is gone
	Capacity      int32    // seats
	ReservedSeats int32
	Available     int32 // seats left for new sessions
	Players       int64
	OpenSessions  int32
	MaxSessions   *int32 // nil: as many as its seats allow
	ReportsSeats  bool
	LastHeartbeat *time.Time // nil when it is gone
	LeaseAge      float64    // seconds since LastHeartbeat
	RegisteredAt  time.Time
	EndedAt       *time.Time // nil while it runs
}

// State returns the status, or "silent" for a game server that has not ended and whose lease does not hold.
func (i ConsoleInstance) State() string {
	if !i.Alive && i.Status != "gone" && i.Status != "starting" {
		return "silent"
	}
	return i.Status
}

// FleetFilter selects game servers. Empty fields select all.
type FleetFilter struct {
	Region string
	Mode   string // one that they offer
	State  string // as ConsoleInstance.State returns it
	Prefix string // of their ids
	// AfterRegion and After are the region and the id of the last row of the page before.
	AfterRegion, After string
	Page               ConsolePage
}

// ConsoleFleet returns a page of game servers in the order of region and id, and whether more follow. Errors: TooMany, Unavailable.
func (s *Store) ConsoleFleet(ctx context.Context, f FleetFilter) (fleet []ConsoleInstance, more bool, err error) {
	most := f.Page.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleFleet(ctx, query.ConsoleFleetParams{
			Region: f.Region, Mode: f.Mode, Status: f.State, Prefix: f.Prefix, AfterRegion: f.AfterRegion, After: f.After, Most: most + 1,
		})
		for _, r := range rows {
			fleet = append(fleet, ConsoleInstance(r))
		}
		return err
	})
	fleet, more = page(fleet, most)
	return fleet, more, err
}

// FleetCount is how many game servers of a region are in a state.
type FleetCount struct {
	Region        string
	State         string // as ConsoleInstance.State returns it
	Instances     int32
	Capacity      int64 // seats
	ReservedSeats int64
	OpenSessions  int64
}

// ConsoleFleetCounts counts game servers by region and state. Errors: TooMany, Unavailable.
func (s *Store) ConsoleFleetCounts(ctx context.Context) (counts []FleetCount, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleFleetCounts(ctx)
		for _, r := range rows {
			counts = append(counts, FleetCount(r))
		}
		return err
	})
	return counts, err
}

// ConsoleInstance returns a game server by its id. Errors: NotFound, "instance_unknown"; TooMany; Unavailable.
func (s *Store) ConsoleInstance(ctx context.Context, id string) (ConsoleInstance, error) {
	var in ConsoleInstance
	err := s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		r, err := q.ConsoleInstance(ctx, id)
		in = ConsoleInstance(r)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return in, fault.New(fault.NotFound, "instance_unknown", "no instance %q: ended ones are forgotten after some time", id)
	}
	return in, err
}

// ConsoleNames returns the regions and modes of the fleet, sorted, for filters: at most 1,000 of each. Errors: TooMany, Unavailable.
func (s *Store) ConsoleNames(ctx context.Context) (regions, modes []string, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		var err error
		if regions, err = q.ConsoleRegions(ctx); err != nil {
			return err
		}
		modes, err = q.ConsoleModes(ctx)
		return err
	})
	return regions, modes, err
}
