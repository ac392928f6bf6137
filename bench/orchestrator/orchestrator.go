// Package orchestrator puts a load on the orchestrator of a director and measures its answers, as matchmakers and
// dashboards of @rivalis/fleet call it, with simulated game servers ([agents]) attached. The turns are here; package
// bench runs the callers and measures.
//
// The package knows only the protocol.
package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/testkit/agents"
)

// The scenarios: what a caller does in each turn.
const (
	roomCreate = "room-create" // a room is created, on the agent that the orchestrator chooses
	roomLife   = "room-life"   // a room is created, found and destroyed
	agentList  = "agent-list"  // all agents and their rooms are read
	unchanged  = "agent-304"   // the same, when nothing has changed since
	agentStats = "agent-stats" // the counts of the fleet are read
	agentJoin  = "agent-join"  // all agents connect at once; until the orchestrator lists the last
	agentBusy  = "agent-busy"  // the same as agent-idle, but each agent's state changes each second
	agentIdle  = "agent-idle"  // agents only answer polls, and the counts are read ten times: a call is a second
)

// Protocol is the scenarios of this package. URLs are the base URLs of orchestrators' listeners, whose keys the options
// need, and options about players, tickets and game servers of package bench are ignored. Its errors are also agents
// that cannot attach, or that end by themselves.
var Protocol = bench.NewProtocol(map[string]bench.ProtocolScenario[*load]{
	roomCreate: {Turn: (*load).create, Usual: bench.Load{Callers: 32, Agents: 200}},
	roomLife:   {Turn: (*load).live, Usual: bench.Load{Callers: 32, Agents: 200}},
	agentList:  {Turn: (*load).list, Usual: bench.Load{Callers: 1, Agents: 1000, Rooms: 4}},
	unchanged:  {Turn: (*load).revalidate, Usual: bench.Load{Callers: 8, Agents: 1000, Rooms: 4}},
	agentStats: {Turn: (*load).stats, Usual: bench.Load{Callers: 8, Agents: 1000, Rooms: 4}},
	// agents connect in the turn
	agentJoin: {Turn: (*load).join, Usual: bench.Load{Callers: 1, Agents: 1000, Rooms: 4, Alone: true}},
	agentBusy: {Turn: (*load).busy, Usual: bench.Load{Callers: 1, Agents: 1000, Rooms: 4}},
	agentIdle: {Turn: (*load).idle, Usual: bench.Load{Callers: 1, Agents: 1000, Rooms: 4}},
}, check, newLoad)

func check(o *bench.Options) error {
	if o.AgentKey == "" || o.AdminKey == "" {
		return errors.New("agents and calls need keys of the orchestrator: DIRECTOR_ORCHESTRATOR_AGENT_KEYS and DIRECTOR_ORCHESTRATOR_ADMIN_KEYS")
	}
	return nil
}

// load is a run in progress.
type load struct {
	bench.Options

	client *bench.Client
	fleet  *fleet // nil while no agents are attached

	etagOnce sync.Once
	etag     string // of the fleet, once agents are attached
	etagErr  error
}

func newLoad(o bench.Options) *load { return &load{Options: o} }

// Connect connects the agents, unless that is what is measured.
func (l *load) Connect(ctx context.Context) error {
	l.client = bench.NewClient(ctx, "", l.Callers+1)
	if err := checkOpenFiles(l.Agents); err != nil || l.Scenario == agentJoin {
		return err
	}
	return l.attach(ctx)
}

// Finish disconnects the agents. Errors: why a game server ended by itself.
func (l *load) Finish(context.Context, *bench.Result) (err error) {
	defer l.client.Close()
	if l.fleet != nil {
		err = l.fleet.failure()
		l.detach()
	}
	return err
}

// joinTimeout is how long the agents of a run may take to be listed.
const joinTimeout = 2 * time.Minute

// attach connects the agents and waits until each replica lists them.
func (l *load) attach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	l.fleet = startFleet(l.Options)
	for i := range l.URLs {
		if err := l.awaitAgents(ctx, i, l.Agents); err != nil {
			return err
		}
	}
	return nil
}

func (l *load) detach() {
	l.fleet.stop()
	l.fleet = nil
}

// config is the game server of a number.
func config(o bench.Options, n int) agents.Config {
	return agents.Config{
		URL: "ws" + strings.TrimPrefix(o.URLs[n%len(o.URLs)], "http"), Key: o.AgentKey, Name: fmt.Sprint("bench-", n),
		EndpointURL: fmt.Sprintf("wss://bench-%d.example.com", n), RoomTypes: []string{roomType},
		Labels: map[string]string{"region": "bench"},
	}
}
