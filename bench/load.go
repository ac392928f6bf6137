package bench

import "fmt"

// Limits of the callers of one process.
const (
	MaxCallers  = 2048   // each holds a connection
	MaxInFlight = 16_384 // callers of an open loop: more than a director admits, to measure its refusals
)

// Load is the size of a load. A size of 0 becomes the scenario's usual one (see [Load.Sizes]); where 0 means something
// else, the field says so. What a scenario does not have is ignored.
type Load struct {
	// Callers is the number of concurrent callers, 1 to MaxCallers; in an open loop, of most calls in flight, up to
	// MaxInFlight. 0 is refused.
	Callers int `json:"callers"`
	// Rate makes the load an open loop of that many turns a second: turn i is due at the start + i/Rate. 0 is a closed
	// loop.
	Rate float64 `json:"-"`
	// Turns is how many a closed loop takes, the warm-up included. With Turns, callers do not pause after a failure. 0: as
	// many as Duration permits.
	Turns int `json:"-"`

	Instances int `json:"instances"` // game servers to register; raised to one a region, and for heartbeat to one a caller
	Regions   int `json:"regions"`   // of players and game servers
	Modes     int `json:"modes"`     // of players and of each game server
	// HotShare is the share of the calls for the first of several modes; the other modes share the rest equally. 0: all
	// modes are equal.
	HotShare float64 `json:"hot_share,omitempty"`
	Capacity int     `json:"-"`                 // seats of each game server; usually they do not become full
	Players  int     `json:"-"`                 // most players of a session; 0 is the mode's default
	Tickets  int     `json:"tickets,omitempty"` // queued before each turn

	Connections int `json:"connections,omitempty"` // of gRPC, that callers share
	Watchers    int `json:"watchers,omitempty"`    // streams that are idle
	Agents      int `json:"agents,omitempty"`      // simulated Rivalis game servers, spread over the replicas
	Rooms       int `json:"rooms,omitempty"`       // that each agent has made itself; 0: none
	// Sessions is the number of idle sessions of the realtime lobby, in addition to the callers', spread over the
	// replicas. 0: none.
	Sessions int `json:"sessions,omitempty"`
}

// Size is a number of a load.
type Size struct {
	Name        string // of its flag
	Value       *int
	Usual       int    // in the scenario; 0: the scenario has none of it, unless ZeroIsMeant
	ZeroIsMeant bool   // a Value of 0 is a size; else it is not set, and becomes Usual
	About       string // help of its flag; "": it has no flag
}

// Sizes are the whole numbers of the load that have a usual value, except for its callers.
func (l *Load) Sizes(usual Load) []Size {
	return []Size{
		{Name: "instances", Value: &l.Instances, Usual: usual.Instances,
			About: "Game servers to register; at least one for each region"},
		{Name: "regions", Value: &l.Regions, Usual: usual.Regions, About: "Regions of players and game servers"},
		{Name: "modes", Value: &l.Modes, Usual: usual.Modes, About: "Modes of players and game servers"},
		{Name: "capacity", Value: &l.Capacity, Usual: usual.Capacity},
		{Name: "tickets", Value: &l.Tickets, Usual: usual.Tickets, About: "Tickets that wait at the start of a turn"},
		{Name: "connections", Value: &l.Connections, Usual: usual.Connections,
			About: "Connections that callers of the Open Match API share"},
		{Name: "watchers", Value: &l.Watchers, Usual: usual.Watchers, About: "Idle streams of watch"},
		{Name: "agents", Value: &l.Agents, Usual: usual.Agents, About: "Simulated Rivalis game servers"},
		{Name: "rooms", Value: &l.Rooms, Usual: usual.Rooms, ZeroIsMeant: true,
			About: "Rooms that each simulated Rivalis game server has made itself"},
		{Name: "sessions", Value: &l.Sessions, Usual: usual.Sessions, ZeroIsMeant: true,
			About: "Idle sessions of the realtime lobby, in addition to the callers'"},
	}
}

// setUsual sets a size that is not set to the usual one, and one that the scenario has none of to 0. Where ZeroIsMeant,
// any size stays: the command sets the usual one where the flag is absent, and a scenario without it ignores it.
func (s Size) setUsual() {
	if s.ZeroIsMeant {
		return
	}
	isUnset, scenarioHasNone := *s.Value == 0, s.Usual == 0
	switch {
	case scenarioHasNone:
		*s.Value = 0
	case isUnset:
		*s.Value = s.Usual
	}
}

// check refuses a negative size.
func (s Size) check() error {
	if *s.Value < 0 {
		return fmt.Errorf("%d %s: there cannot be fewer than none", *s.Value, s.Name)
	}
	return nil
}
