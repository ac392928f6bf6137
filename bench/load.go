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
	// Callers are concurrent, 1 to MaxCallers; in an open loop they are the most calls in flight, up to MaxInFlight. 0 is
	// refused.
	Callers int `json:"callers"`
	// Rate makes the load an open loop of that many turns a second: turn i is due at the start + i/Rate. 0 is a closed
	// loop.
	Rate float64 `json:"-"`
	// Turns is how many a closed loop takes, the warm-up included, without pauses after failures; 0: as many as Duration
	// permits.
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
	// Sessions are those of the realtime lobby beside those of callers, spread over the replicas. 0: none.
	Sessions int `json:"sessions,omitempty"`
}

// Size is a number of a load.
type Size struct {
	Name   string // of its flag
	Value  *int
	Usual  int
	MayBe0 bool   // 0 is a size, and not the usual one
	About  string // "": it has no flag
}

// Sizes are the whole numbers of the load that have a usual value, except for its callers.
func (l *Load) Sizes(usual Load) []Size {
	return []Size{
		{"instances", &l.Instances, usual.Instances, false, "Game servers to register; at least one for each region"},
		{"regions", &l.Regions, usual.Regions, false, "Regions of players and game servers"},
		{"modes", &l.Modes, usual.Modes, false, "Modes of players and game servers"},
		{"capacity", &l.Capacity, usual.Capacity, false, ""},
		{"tickets", &l.Tickets, usual.Tickets, false, "Tickets that wait at the start of a turn"},
		{"connections", &l.Connections, usual.Connections, false,
			"Connections that callers of the Open Match API share"},
		{"watchers", &l.Watchers, usual.Watchers, false, "Idle streams of watch"},
		{"agents", &l.Agents, usual.Agents, false, "Simulated Rivalis game servers"},
		{"rooms", &l.Rooms, usual.Rooms, true, "Rooms that each simulated Rivalis game server has made itself"},
		{"sessions", &l.Sessions, usual.Sessions, true,
			"Sessions of the realtime lobby beside those of callers"},
	}
}

// setUsual replaces a size that must not be 0 by the usual one, which is 0 if the scenario has none of it. A size that
// may be 0 stays, and is ignored where the scenario has none.
func (s Size) setUsual() {
	if !s.MayBe0 && (*s.Value == 0 || s.Usual == 0) {
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
