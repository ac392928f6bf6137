// Package orchestrator puts a load on the orchestrator of a director and measures its answers, as matchmakers and dashboards of
// @rivalis/fleet call it, with simulated game servers ([agents]) attached. The turns are here; package bench runs the callers and measures.
//
// The package knows only the protocol.
package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/testkit/agents"
)

// The scenarios: what a caller does in each turn.
const (
	roomCreate = "room-create"       // a room is created, on the agent that the orchestrator chooses
	roomLarge  = "room-create-large" // the same as room-create, in a large fleet
	roomLife   = "room-life"         // a room is created, found and destroyed
	agentList  = "agent-list"        // all agents and their rooms are read
	unchanged  = "agent-304"         // the same, when nothing has changed since
	agentStats = "agent-stats"       // the counts of the fleet are read
	agentJoin  = "agent-join"        // all agents connect at once; until the orchestrator lists the last
	agentBusy  = "agent-busy"        // the same as agent-idle, but each agent's state changes each second
	agentIdle  = "agent-idle"        // agents only answer polls, and the counts are read ten times: a call is a second
)

// Limits of the load that one process generates.
const (
	MaxAgents = 20_000
	MaxRooms  = 100 // of an agent
)

// Options of a run. Of those of package bench, Scenario is one of Scenarios of this package, URLs are the base URLs of orchestrators'
// listeners, and options about players, tickets and game servers are ignored.
type Options struct {
	bench.Options

	AgentKey, AdminKey string
	Agents             int // simulated game servers, up to MaxAgents, spread over URLs; 0 is 200
	Rooms              int // that each agent has made itself, up to MaxRooms
}

type scenario struct {
	turn    func(*load, context.Context, bench.Turn) error
	callers int  // usual number
	agents  int  // usual number
	rooms   int  // usual number
	alone   bool // agents connect in the turn
}

var scenarios = map[string]scenario{
	roomCreate: {turn: (*load).create, callers: 32, agents: 200},
	roomLarge:  {turn: (*load).create, callers: 32, agents: 5000},
	roomLife:   {turn: (*load).live, callers: 32, agents: 200},
	agentList:  {turn: (*load).list, callers: 1, agents: 1000, rooms: 4},
	unchanged:  {turn: (*load).revalidate, callers: 8, agents: 1000, rooms: 4},
	agentStats: {turn: (*load).stats, callers: 8, agents: 1000, rooms: 4},
	agentJoin:  {turn: (*load).join, callers: 1, agents: 1000, rooms: 4, alone: true},
	agentBusy:  {turn: (*load).busy, callers: 1, agents: 1000, rooms: 4},
	agentIdle:  {turn: (*load).idle, callers: 1, agents: 1000, rooms: 4},
}

// Scenarios returns the names of all scenarios, sorted.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios)) }

// Usual returns the usual load of a scenario.
func Usual(scenario string) (callers, agents, rooms int) {
	s := scenarios[scenario]
	return s.callers, s.agents, s.rooms
}

// Check validates the options as Run does, and sets defaults.
func (o *Options) Check() error {
	o.Agents = cmp.Or(o.Agents, 200)
	switch s := scenarios[o.Scenario]; {
	case s.turn == nil:
		return fmt.Errorf("there is no scenario %q: there are %s", o.Scenario, strings.Join(Scenarios(), ", "))
	case o.Agents < 1 || o.Agents > MaxAgents:
		return fmt.Errorf("%d agents: there must be 1 to %d", o.Agents, MaxAgents)
	case o.Rooms < 0 || o.Rooms > MaxRooms:
		return fmt.Errorf("%d rooms: there must be 0 to %d", o.Rooms, MaxRooms)
	case s.alone && o.Callers > 1:
		return fmt.Errorf("%d callers: %s has one", o.Callers, o.Scenario)
	case o.AgentKey == "" || o.AdminKey == "":
		return errors.New("agents and calls need keys of the orchestrator: DIRECTOR_ORCHESTRATOR_AGENT_KEYS and DIRECTOR_ORCHESTRATOR_ADMIN_KEYS")
	}
	o.Turn = func(context.Context, bench.Turn) error { return nil } // replaced in Run
	return o.Options.Check()
}

// load is a run in progress.
type load struct {
	Options

	client *client
	fleet  *fleet // nil while no agents are attached

	etagOnce sync.Once
	etag     string // of the fleet, once agents are attached
	etagErr  error
}

// joinTimeout is how long the agents of a run may take to be listed.
const joinTimeout = 2 * time.Minute

// Run generates the load. It returns when all calls have been answered and all agents have disconnected. Calls that fail are part of
// the result. Errors: an invalid option, agents that cannot attach, a meter that cannot be read, or the end of ctx.
func Run(ctx context.Context, o Options) (bench.Result, error) {
	if err := errors.Join(o.Check(), checkOpenFiles(o.Agents)); err != nil {
		return bench.Result{}, err
	}
	l := &load{Options: o, client: newClient(o.URLs, o.AdminKey, o.Callers)}
	defer l.client.close()
	if !scenarios[o.Scenario].alone {
		if err := l.attach(ctx); err != nil {
			return bench.Result{}, err
		}
		defer l.detach()
	}
	turn := scenarios[o.Scenario].turn
	o.Turn = func(ctx context.Context, t bench.Turn) error { return turn(l, ctx, t) }
	result, err := bench.Run(ctx, o.Options)
	result.Agents = o.Agents
	if err == nil && l.fleet != nil {
		err = l.fleet.failure()
	}
	return result, err
}

// attach connects the agents and waits until each replica lists them.
func (l *load) attach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	l.fleet = startFleet(l.Options)
	for i := range l.URLs {
		if err := l.awaitAgents(ctx, i, l.Agents); err != nil {
			return errors.Join(err, l.fleet.failure())
		}
	}
	return nil
}

func (l *load) detach() {
	l.fleet.stop()
	l.fleet = nil
}

// config is the game server of a number.
func (o *Options) config(n int) agents.Config {
	return agents.Config{
		URL: "ws" + strings.TrimPrefix(o.URLs[n%len(o.URLs)], "http"), Key: o.AgentKey, Name: fmt.Sprint("bench-", n),
		EndpointURL: fmt.Sprintf("wss://bench-%d.example.com", n), RoomTypes: []string{roomType}, Labels: map[string]string{"region": "bench"},
	}
}
