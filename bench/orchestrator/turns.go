package orchestrator

import (
	"context"
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

func post(t bench.Turn) request {
	return request{replica: t.Caller(), method: http.MethodPost, path: "/v1/rooms", body: `{"type":"` + roomType + `"}`, want: http.StatusCreated}
}

// create creates a room that stays.
func (l *load) create(ctx context.Context, t bench.Turn) error {
	return t.Timed("create", func() error {
		_, err := l.client.do(ctx, post(t), false)
		return err
	})
}

// live creates a room, finds it on another replica and destroys it.
func (l *load) live(ctx context.Context, t bench.Turn) error {
	var made room
	err := t.Timed("create", func() error {
		a, err := l.client.do(ctx, post(t), true)
		if err == nil {
			made, err = dataOf[room](a)
		}
		return err
	})
	if err != nil {
		return err
	}
	path := "/v1/rooms/" + made.ID
	if err := t.Timed("find", func() error {
		_, err := l.client.do(ctx, request{replica: t.Caller() + 1, method: http.MethodGet, path: path, want: http.StatusOK}, false)
		return err
	}); err != nil {
		return err
	}
	return t.Timed("destroy", func() error {
		_, err := l.client.do(ctx, request{replica: t.Caller(), method: http.MethodDelete, path: path, want: http.StatusOK}, false)
		return err
	})
}

func get(t bench.Turn, path string) request {
	return request{replica: t.Caller(), method: http.MethodGet, path: path, want: http.StatusOK}
}

func (l *load) list(ctx context.Context, t bench.Turn) error {
	return t.Timed("list", func() error {
		_, err := l.client.do(ctx, get(t, "/v1/instances"), false)
		return err
	})
}

func (l *load) stats(ctx context.Context, t bench.Turn) error {
	return t.Timed("stats", func() error {
		_, err := l.client.do(ctx, get(t, "/v1/stats"), false)
		return err
	})
}

// revalidate asks for the list with the ETag of the fleet, which does not change while agents only answer polls.
func (l *load) revalidate(ctx context.Context, t bench.Turn) error {
	r := get(t, "/v1/instances")
	if err := t.Unmeasured(func() (err error) {
		r.etag, err = l.etagOf(ctx)
		return err
	}); err != nil {
		return err
	}
	r.want = http.StatusNotModified
	return t.Timed("not modified", func() error {
		_, err := l.client.do(ctx, r, false)
		return err
	})
}

func (l *load) etagOf(ctx context.Context) (string, error) {
	l.etagOnce.Do(func() {
		var a answer
		a, l.etagErr = l.client.do(ctx, request{method: http.MethodGet, path: "/v1/stats", want: http.StatusOK}, false)
		l.etag = a.etag
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
	const pause = 10 * time.Millisecond
	for {
		a, err := l.client.do(ctx, request{replica: replica, method: http.MethodGet, path: "/v1/stats", want: http.StatusOK}, true)
		if err == nil {
			var stats fleetStats
			if stats, err = dataOf[fleetStats](a); err == nil && stats.Instances == n {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// probesPerSecond is how often idle reads the counts of the fleet.
const probesPerSecond = 10

// idle lasts a second, in which it reads the counts now and then: a call costs what the director uses for its agents in that time.
func (l *load) idle(ctx context.Context, t bench.Turn) error {
	for range probesPerSecond {
		if err := t.Unmeasured(func() error { return pause(ctx, time.Second/probesPerSecond) }); err != nil {
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

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
