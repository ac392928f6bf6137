package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/query"
)

// ConsoleCapacity is what a region can take of a mode, as ops.placement_outlook and ops.capacity show it.
type ConsoleCapacity struct {
	Region string
	Mode   string
	// Refusal says why a request for one player is refused with 409 now; "": it gets a seat. See RefusalText.
	Refusal          string
	Live             int32 // game servers with a live lease that offer the mode
	Draining         int32 // those of them that drain
	Starting         int32
	Silent           int32 // their lease does not hold
	Ended            int32 // lately
	SessionsWithRoom int64
	LargestParty     int32 // the most free seats in one open session
	LargestSession   int32 // the most seats that a new session could have; 0: none can be opened
	PoolApp          string
	PoolVersion      string // of the pool that serves the mode; "": none does
	Seats            int64
	ReservedSeats    int64
	FreeSeats        int64
	OpenSessions     int64
	Players          int64
}

// refusals are the texts of ConsoleCapacity.Refusal.
var refusals = map[string]string{
	"full":          "every game server that is ready is full",
	"session limit": "game servers have free seats, but each has as many sessions as it takes",
	"draining":      "all live game servers drain",
	"starting":      "the game servers are not ready yet",
	"silent":        "the game servers send no heartbeats: no lease holds",
	"ended":         "all game servers have ended",
	"none yet":      "only a pool serves the mode, and none of its servers has registered",
}

// RefusalText returns why a request for a party is refused with 409 now, where its session has maxPlayers seats; "": it gets its seats.
func (c ConsoleCapacity) RefusalText(party, maxPlayers int) string {
	if c.Refusal != "" {
		return refusals[c.Refusal]
	}
	if party <= int(c.LargestParty) || maxPlayers <= int(c.LargestSession) {
		return ""
	}
	return "no game server has room for a session of that size, and no open session for the party"
}

// CapacityFilter selects a region; empty fields select all. AfterRegion and After are the region and the mode of the last row of the page
// before.
type CapacityFilter struct {
	Region             string
	AfterRegion, After string
	Page               ConsolePage
}

// ConsoleCapacity returns what each region can take, in the order of region and mode, and whether more follow. Errors: TooMany,
// Unavailable.
func (s *Store) ConsoleCapacity(ctx context.Context, f CapacityFilter) (capacity []ConsoleCapacity, more bool, err error) {
	most := f.Page.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleCapacity(ctx, query.ConsoleCapacityParams{Region: f.Region, AfterRegion: f.AfterRegion, After: f.After, Most: most + 1})
		for _, r := range rows {
			capacity = append(capacity, ConsoleCapacity(r))
		}
		return err
	})
	capacity, more = page(capacity, most)
	return capacity, more, err
}

// ConsoleDemand are players who wait for a server, as ops.demand shows them.
type ConsoleDemand struct {
	Region    string
	Mode      string
	Source    string // loop, matchmake or bevygap
	Profile   string
	Seats     int32
	Party     int32
	Matches   int32
	Players   int32
	Since     time.Time
	ExpiresAt *time.Time // nil in rows of the loop
	Universe  string
}

// ConsoleDemand returns who waits for servers, most players first, at most 500 rows. Errors: TooMany, Unavailable.
func (s *Store) ConsoleDemand(ctx context.Context) (demand []ConsoleDemand, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleDemand(ctx)
		for _, r := range rows {
			demand = append(demand, ConsoleDemand(r))
		}
		return err
	})
	return demand, err
}
