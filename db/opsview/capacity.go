package opsview

import (
	"context"
	"time"
)

// Outlook says how a request for one player of a mode would be answered in a region, and why.
type Outlook struct {
	Region string `db:"region" json:"region"`
	Mode   string `db:"mode" json:"mode"`
	// Refusal says why a request for one player is refused with 409 now; "": it gets a seat. See RefusalText.
	Refusal          string `db:"refusal" sql:"coalesce(refusal, '')" json:"refusal"`
	Live             int64  `db:"live" json:"live"`         // game servers with a live lease that offer the mode
	Draining         int64  `db:"draining" json:"draining"` // those of them that drain
	Starting         int64  `db:"starting" json:"starting"`
	Silent           int64  `db:"silent" json:"silent"` // their lease does not hold
	Ended            int64  `db:"ended" json:"ended"`   // lately
	SessionsWithRoom int64  `db:"sessions_with_room" json:"sessions_with_room"`
	LargestParty     int32  `db:"largest_party" json:"largest_party"` // the most free seats in one open session
	// LargestSession is the most seats that a new session could have; 0: none can be opened.
	LargestSession int32 `db:"largest_session" json:"largest_session"`
	// PoolApp and PoolVersion name the pool that serves the mode; "": none does.
	PoolApp     string `db:"pool_app" sql:"coalesce(pool_app, '')" json:"pool_app"`
	PoolVersion string `db:"pool_version" sql:"coalesce(pool_version, '')" json:"pool_version"`
}

// Outlooks are read in the order of region and mode. They read the whole fleet and all open sessions.
var Outlooks = View[Outlook, CapacityFilter]{name: "placement_outlook", order: Order{"region", "mode"}}

// Capacity is how many seats live game servers have for a mode.
type Capacity struct {
	Region           string `db:"region" json:"region"`
	Mode             string `db:"mode" json:"mode"`
	Instances        int64  `db:"instances" json:"instances"`
	Draining         int64  `db:"draining" json:"draining"`
	Seats            int64  `db:"seats" json:"seats"`
	ReservedSeats    int64  `db:"reserved_seats" json:"reserved_seats"`
	FreeSeats        int64  `db:"free_seats" json:"free_seats"`
	OpenSessions     int64  `db:"open_sessions" json:"open_sessions"`
	Players          int64  `db:"players" json:"players"`
	SessionsWithRoom int64  `db:"sessions_with_room" json:"sessions_with_room"`
}

// Capacities are read in the order of region and mode.
var Capacities = View[Capacity, CapacityFilter]{name: "capacity", order: Order{"region", "mode"}}

// CapacityFilter selects a region, and modes. Empty fields select all.
type CapacityFilter struct {
	Region string
	Modes  []string
}

func (f CapacityFilter) selectRows(w *where) {
	w.addEqual("region", f.Region)
	if f.Modes != nil {
		w.add("mode = ANY (?)", f.Modes)
	}
}

// refusalTexts are the texts of the values of Outlook.Refusal.
var refusalTexts = map[string]string{
	"full":          "every game server that is ready is full",
	"session limit": "game servers have free seats, but each has as many sessions as it takes",
	"draining":      "all live game servers drain",
	"starting":      "the game servers are not ready yet",
	"silent":        "the game servers send no heartbeats: no lease holds",
	"ended":         "all game servers have ended",
	"none yet":      "only a pool serves the mode, and none of its servers has registered",
}

// RefusalText returns why a request for a party is refused with 409 now, where its session has maxPlayers seats; "":
// it gets its seats.
func (o Outlook) RefusalText(party, maxPlayers int) string {
	if o.Refusal != "" {
		return refusalTexts[o.Refusal]
	}
	if party <= int(o.LargestParty) || maxPlayers <= int(o.LargestSession) {
		return ""
	}
	return "no game server has room for a session of that size, and no open session for the party"
}

// ModeCapacity is what a region can take of a mode.
type ModeCapacity struct {
	Outlook  Outlook
	Capacity Capacity // zero where no live game server offers the mode
}

// ListCapacity returns what each region can take, in the order of region and mode, and whether more follow.
func ListCapacity(ctx context.Context, q Querier, region string, p Page) (all []ModeCapacity, more bool, err error) {
	outlooks, more, err := Outlooks.List(ctx, q, CapacityFilter{Region: region}, p)
	if err != nil || len(outlooks) == 0 {
		return nil, more, err
	}
	modes := make([]string, len(outlooks))
	for i, o := range outlooks {
		modes[i] = o.Mode
	}
	found, err := Capacities.Read(ctx, q, CapacityFilter{Region: region, Modes: modes}, Page{})
	if err != nil {
		return nil, false, err
	}
	type key struct{ region, mode string }
	capacities := map[key]Capacity{}
	for _, c := range found {
		capacities[key{c.Region, c.Mode}] = c
	}
	for _, o := range outlooks {
		all = append(all, ModeCapacity{o, capacities[key{o.Region, o.Mode}]})
	}
	return all, more, nil
}

// Demand is the players of one source who wait for a server of a mode in a region.
type Demand struct {
	Region    string     `db:"region" json:"region"`
	Mode      string     `db:"mode" json:"mode"`
	Source    string     `db:"source" json:"source"` // loop, matchmake or bevygap
	Profile   string     `db:"profile" sql:"coalesce(profile, '')" json:"profile"`
	Seats     int32      `db:"seats" sql:"coalesce(seats, 0)" json:"seats"`
	Party     int32      `db:"party" sql:"coalesce(party, 0)" json:"party"`
	Matches   int32      `db:"matches" json:"matches"`
	Players   int32      `db:"players" json:"players"`
	Since     time.Time  `db:"since" json:"since"`
	UpdatedAt *time.Time `db:"updated_at" json:"updated_at"`
	ExpiresAt *time.Time `db:"expires_at" json:"expires_at"` // nil in rows of the loop
	Universe  string     `db:"universe" sql:"coalesce(universe, '')" json:"universe"`
}

// Demands are read with the most players first.
var Demands = View[Demand, Any]{name: "demand", order: Order{"-players", "region", "mode"}}
