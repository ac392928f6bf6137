package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/lattice-director/director/bench"
)

// room is what callers read of a room.
type room struct {
	ID string `json:"id"`
}

// fleetStats is what callers read of GET /v1/stats.
type fleetStats struct {
	Instances int `json:"instances"`
}

// agentWait is how long an orchestrator waits for an agent.
const agentWait = 10 * time.Second

// call makes a call of the REST API to the nth replica. into gets what the answer has under "data"; nil: it is ignored.
func (l *load) call(replica int, r bench.Request, into any) error {
	r.URL, r.Wait = l.URLs[replica%len(l.URLs)]+r.URL, agentWait
	r.Header, r.Value = "Authorization", "Bearer "+l.AdminKey
	if into != nil {
		r.Take = func(answer []byte) error {
			return json.Unmarshal(answer, &struct {
				Data any `json:"data"`
			}{into})
		}
	}
	return l.client.Do(r)
}

// timed measures a call as a step.
func (l *load) timed(t bench.Turn, step string, replica int, r bench.Request, into any) error {
	return t.Timed(step, func() error { return l.call(replica, r, into) })
}

var newRoom = bench.Request{Method: http.MethodPost, URL: "/v1/rooms", Body: []byte(`{"type":"` + roomType + `"}`), Status: http.StatusCreated}

func get(path string) bench.Request {
	return bench.Request{Method: http.MethodGet, URL: path, Status: http.StatusOK}
}

// create creates a room that stays.
func (l *load) create(_ context.Context, t bench.Turn) error {
	return l.timed(t, "create", t.Caller(), newRoom, nil)
}

// live creates a room, finds it on another replica and destroys it.
func (l *load) live(_ context.Context, t bench.Turn) error {
	var made room
	if err := l.timed(t, "create", t.Caller(), newRoom, &made); err != nil {
		return err
	}
	path := "/v1/rooms/" + made.ID
	if err := l.timed(t, "find", t.Caller()+1, get(path), nil); err != nil {
		return err
	}
	return l.timed(t, "destroy", t.Caller(), bench.Request{Method: http.MethodDelete, URL: path, Status: http.StatusOK},
		nil)
}

func (l *load) list(_ context.Context, t bench.Turn) error {
	return l.timed(t, "list", t.Caller(), get("/v1/instances"), nil)
}

func (l *load) stats(_ context.Context, t bench.Turn) error {
	return l.timed(t, "stats", t.Caller(), get("/v1/stats"), nil)
}

// revalidate asks for the list with the ETag of the fleet, which does not change while agents only answer polls.
func (l *load) revalidate(_ context.Context, t bench.Turn) error {
	r := get("/v1/instances")
	if err := t.Unmeasured(func() (err error) {
		r.IfNoneMatch, err = l.etagOf()
		return err
	}); err != nil {
		return err
	}
	r.Status = http.StatusNotModified
	return l.timed(t, "not modified", t.Caller(), r, nil)
}

func (l *load) etagOf() (string, error) {
	l.etagOnce.Do(func() {
		r := get("/v1/stats")
		r.ETag = &l.etag
		l.etagErr = l.call(0, r, nil)
	})
	return l.etag, l.etagErr
}

// join connects all agents and waits until the orchestrator lists the last. Disconnecting them is not measured.
func (l *load) join(ctx context.Context, t bench.Turn) error {
	err := t.Timed("join", func() error {
		l.fleet = startFleet(l.Options)
		return l.awaitAgents(ctx, 0, l.Agents)
	})
	left := t.Unmeasured(func() error {
		if failed := l.fleet.failure(); failed != nil && err == nil {
			err = failed
		}
		l.detach()
		return l.awaitAgents(ctx, 0, 0)
	})
	if err != nil {
		return err
	}
	return left
}

// awaitAgents waits until a replica lists that many agents. A replica that has just started answers 503 at first.
func (l *load) awaitAgents(ctx context.Context, replica, n int) error {
	for {
		var stats fleetStats
		err := l.call(replica, get("/v1/stats"), &stats)
		if err == nil && stats.Instances == n {
			return nil
		}
		if ended := bench.Pause(ctx, 10*time.Millisecond); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// probesPerSecond is how often idle reads the counts of the fleet.
const probesPerSecond = 10

// idle lasts a second, in which it reads the counts now and then: a call costs what the director uses for its agents in
// that time.
func (l *load) idle(ctx context.Context, t bench.Turn) error {
	for range probesPerSecond {
		if err := t.Unmeasured(func() error { return bench.Pause(ctx, time.Second/probesPerSecond) }); err != nil {
			return err
		}
		if err := l.stats(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// busy is idle, and each game server changes in each second.
func (l *load) busy(ctx context.Context, t bench.Turn) error {
	if err := t.Unmeasured(func() error { l.fleet.change(); return nil }); err != nil {
		return err
	}
	return l.idle(ctx, t)
}
