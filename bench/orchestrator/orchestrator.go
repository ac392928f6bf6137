// Package orchestrator puts a load on the orchestrator of a director and measures its answers, as matchmakers and
// dashboards of @rivalis/fleet call it, with simulated game servers ([agents]) attached. The package knows only the
// protocol.
package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
)

// Scenarios of this package. URLs are the base URLs of orchestrators' listeners, whose keys the options need. Errors of a
// run are also agents that cannot attach, or that end by themselves.
var Scenarios = []bench.Scenario{
	scenario("room-create", "a room is created, on the game server that the director chooses\n"+
		"(with --background, what a call costs in fleets of different --agents compares)",
		bench.Load{Callers: 32, Agents: 200}, oneCall("create", newRoom)),
	scenario("room-life", "a room is created, found on the next replica and destroyed",
		bench.Load{Callers: 32, Agents: 200}, (*load).liveRoom),
	// The list is not decoded, which would be CPU of the load.
	scenario("agent-list", "all game servers and their rooms are listed",
		bench.Load{Callers: 1, Agents: 1000, Rooms: 4}, oneCall("list", get("/v1/instances"))),
	scenario("agent-304", "the same, while nothing changes: 304", bench.Load{Callers: 8, Agents: 1000, Rooms: 4},
		(*load).revalidate),
	scenario("agent-stats", "the counts of the fleet are read", bench.Load{Callers: 8, Agents: 1000, Rooms: 4},
		oneCall("stats", get("/v1/stats"))),
	scenario(joining, "all game servers connect at once: until the last is listed",
		bench.Load{Callers: 1, Agents: 1000, Rooms: 4}, (*load).joinAll),
	scenario("agent-idle", "game servers only answer polls, and the counts are read ten times: a call is a second, and\n"+
		"costs what the director uses in it", bench.Load{Callers: 1, Agents: 1000, Rooms: 4}, (*load).idle),
	scenario("agent-busy", "the same, while the state of each game server changes each second",
		bench.Load{Callers: 1, Agents: 1000, Rooms: 4}, (*load).changeAndIdle),
}

// joining is the scenario whose turns connect the agents.
const joining = "agent-join"

// scenario is one whose agents are attached until the end of the run, except where turns attach them.
func scenario(name, about string, usual bench.Load,
	turn func(*load, context.Context, *bench.Caller) error) bench.Scenario {
	s := bench.Scenario{Name: name, About: about, Usual: usual, Check: checkKeys, IsAlone: name == joining}
	if s.IsAlone {
		return bench.Define(s, newLoad, turn)
	}
	return bench.Define(s, newLoad, turn, (*load).attach)
}

// checkKeys refuses a run in which every call would answer 401.
func checkKeys(o *bench.Options) error {
	if o.AgentKey == "" || o.AdminKey == "" {
		return errors.New("agents and calls need keys of the orchestrator: DIRECTOR_ORCHESTRATOR_AGENT_KEYS and DIRECTOR_ORCHESTRATOR_ADMIN_KEYS")
	}
	return nil
}

// load is a run in progress.
type load struct {
	job    *bench.Job
	client *bench.Client
	etag   string // of the fleet, when it was complete

	fleet   fleet         // nil where turns attach agents
	changes atomic.Uint32 // how often its state was changed
}

// newLoad makes a load without agents.
func newLoad(ctx context.Context, job *bench.Job) *load {
	return &load{job: job, client: bench.NewClient(ctx)}
}

// attach connects the agents until the end of the run, and waits until each replica lists them.
func (l *load) attach(ctx context.Context) error {
	l.job.Enter("connecting game servers")
	limited, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	l.fleet = newFleet(l.job)
	// A game server that ended by itself fails the run, however well its calls went.
	l.job.Beside(ctx, l.fleet.run)
	for replica := range l.job.Options.URLs {
		if err := l.awaitAgents(limited, replica, l.job.Options.Load.Agents); err != nil {
			return err
		}
	}
	return nil
}

// awaitAgents waits until a replica lists that many agents. A replica that has just started answers 503 at first.
func (l *load) awaitAgents(ctx context.Context, replica, n int) error {
	counts := get("/v1/stats")
	counts.ETag = &l.etag
	for {
		var stats struct{ Instances int }
		err := l.call(replica, counts, &stats)
		if err == nil && stats.Instances == n { // not "at least": joinAll also waits for none
			return nil
		}
		if ended := bench.Pause(ctx, 10*time.Millisecond); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// call makes a call of the REST API to the nth replica. into gets what the answer has under "data"; nil: it is ignored.
func (l *load) call(replica int, r bench.Request, into any) error {
	r.URL, r.As = l.job.Options.URLs[replica%len(l.job.Options.URLs)]+r.URL, bench.Bearer(l.job.Options.AdminKey)
	r.Wait = 10 * time.Second // how long an orchestrator waits for an agent
	if into != nil {
		r.Take = func(answer []byte) error {
			return json.Unmarshal(answer, &struct {
				Data any `json:"data"`
			}{into})
		}
	}
	return l.client.Do(r)
}

// timeCall measures a call of a caller to its replica, or to one of the next.
func (l *load) timeCall(c *bench.Caller, step string, further int, r bench.Request, into any) error {
	return c.Timed(step, func() error { return l.call(c.Number+further, r, into) })
}

// get is a reading, which must answer 200.
func get(path string) bench.Request {
	return bench.Request{Method: http.MethodGet, URL: path, Status: http.StatusOK}
}

var newRoom = bench.Request{Method: http.MethodPost, URL: "/v1/rooms", Body: []byte(`{"type":"` + roomType + `"}`),
	Status: http.StatusCreated}

// oneCall is a turn of one call.
func oneCall(step string, r bench.Request) func(*load, context.Context, *bench.Caller) error {
	return func(l *load, _ context.Context, c *bench.Caller) error { return l.timeCall(c, step, 0, r, nil) }
}

// liveRoom creates a room, finds it on another replica and destroys it.
func (l *load) liveRoom(_ context.Context, c *bench.Caller) error {
	var room struct{ ID string }
	if err := l.timeCall(c, "create", 0, newRoom, &room); err != nil {
		return err
	}
	path := "/v1/rooms/" + room.ID
	// Every replica has the room once its creation was answered.
	if err := l.timeCall(c, "find", 1, get(path), nil); err != nil {
		return err
	}
	return l.timeCall(c, "destroy", 0, bench.Request{Method: http.MethodDelete, URL: path, Status: http.StatusOK}, nil)
}

// revalidate asks for the list with the ETag of the fleet, which does not change while agents only answer polls.
func (l *load) revalidate(_ context.Context, c *bench.Caller) error {
	r := get("/v1/instances")
	// Any answer but 304 is a failure: a list that changed would be measured as one that did not.
	r.IfNoneMatch, r.Status = l.etag, http.StatusNotModified
	return l.timeCall(c, "not modified", 0, r, nil)
}

// joinAll connects all agents and waits until the orchestrator lists the last. Disconnecting them is not measured.
func (l *load) joinAll(ctx context.Context, c *bench.Caller) error {
	connected, disconnect := context.WithCancel(ctx)
	defer disconnect()
	var running errgroup.Group
	err := c.Timed("join", func() error {
		running.Go(func() error { return newFleet(l.job).run(connected) })
		return l.awaitAgents(ctx, 0, l.job.Options.Load.Agents)
	})
	return errors.Join(err, c.Unmeasured(func() error {
		disconnect()
		return errors.Join(running.Wait(), l.awaitAgents(ctx, 0, 0))
	}))
}

// idle lasts a second, in which it reads the counts now and then: a call costs what the director uses for its agents in
// that time.
func (l *load) idle(_ context.Context, c *bench.Caller) error {
	return c.LastForSecond("stats", func() error { return l.call(c.Number, get("/v1/stats"), nil) })
}

// changeAndIdle is idle, and in each second the first room of each game server has a player more, or none again.
func (l *load) changeAndIdle(ctx context.Context, c *bench.Caller) error {
	_ = c.Unmeasured(func() error {
		players := l.changes.Add(1) % 100
		for n, a := range l.fleet {
			a.SetConnections(roomID(n, 0), players)
		}
		return nil
	})
	return l.idle(ctx, c)
}
