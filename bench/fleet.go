package bench

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"
)

const (
	// maxConcurrent is how many calls prepare or end a run at a time: enough for large batches.
	maxConcurrent = 256
	// maxHeartbeatAge is less than half of the default lease, and more than the five seconds at which real servers send
	// heartbeats: a load at that rate needs no further ones.
	maxHeartbeatAge = 6 * time.Second
	// keepAliveInterval is short, so that heartbeats stay as spread over time as the registrations were.
	keepAliveInterval = 100 * time.Millisecond
)

// instance is a game server that consists of its calls only.
type instance struct {
	url          string // of its replica
	registration registration

	identity      atomic.Pointer[identity] // nil before it has registered
	lastHeartbeat atomic.Int64             // or registration, in Unix nanoseconds; 0: it is not registered
}

// identity is that of one registration.
type identity struct {
	ID          string `json:"instance_id"`
	Incarnation string `json:"incarnation"`

	body []byte // of heartbeat and deregister: the identity as JSON
}

// registration names a game server to the director.
type registration struct {
	ID           string   `json:"instance_id"`
	Endpoint     string   `json:"endpoint"`
	Region       string   `json:"region"`
	Modes        []string `json:"modes"`
	Capacity     int      `json:"capacity"`
	BootID       string   `json:"boot_id"`
	ReportsSeats bool     `json:"reports_seats"`
}

// newInstance makes the nth game server of a kind, not registered yet.
func (w *world) newInstance(kind string, n int, modes []string, seats int) *instance {
	name, urls, regions := fmt.Sprintf("bench-%s-%s%d", w.job.ID, kind, n), w.job.Options.URLs, w.places.regions
	return &instance{url: urls[n%len(urls)],
		registration: registration{name, name + ".invalid:7777", regions[n%len(regions)], modes, seats, name, true}}
}

// forEach calls do for game servers concurrently, until the first error.
func forEach(ctx context.Context, servers []*instance, do func(one *instance) error) error {
	return Concurrently(ctx, len(servers), maxConcurrent, func(_ context.Context, i int) error { return do(servers[i]) })
}

// registerAll registers n game servers of a kind, which is part of their names. The end of the run deregisters those
// that are left, also after an error.
func (w *world) registerAll(ctx context.Context, n int, kind string, modes []string, seats int) ([]*instance, error) {
	servers := make([]*instance, n)
	for i := range servers {
		servers[i] = w.newInstance(kind, i, modes, seats)
	}
	w.mu.Lock()
	w.servers = append(w.servers, servers...)
	w.mu.Unlock()
	return servers, forEach(ctx, servers, w.register)
}

// registerFleet registers the game servers that the turns share.
func (w *world) registerFleet(ctx context.Context) (err error) {
	w.job.Enter("registering game servers")
	w.fleet, err = w.registerAll(ctx, w.job.Options.Load.Instances, "", w.places.modes, w.job.Options.Load.Capacity)
	w.hosts = map[string]*instance{}
	for _, one := range w.fleet {
		w.hosts[one.registration.Endpoint] = one
	}
	return err
}

// register registers a game server, also again, and keeps the incarnation of the answer.
func (w *world) register(one *instance) error {
	err := w.client.Post(one.url+"/fleet/register", w.fleetToken, encode(one.registration), func(a []byte) error {
		registered := &identity{ID: one.registration.ID}
		if err := readStrings(a, member{"incarnation", &registered.Incarnation}); err != nil {
			return err
		}
		registered.body = encode(registered)
		one.identity.Store(registered)
		one.lastHeartbeat.Store(time.Now().UnixNano())
		return nil
	})
	if err != nil {
		return fmt.Errorf("a game server cannot register at %s: %w", one.url, err)
	}
	return nil
}

// sendHeartbeat sends a heartbeat. A failed one counts as sent, too: keepAlive does not repeat it at once.
func (w *world) sendHeartbeat(url string, one *instance, take func(answer []byte) error) error {
	err := w.client.Post(url+"/fleet/heartbeat", w.fleetToken, one.identity.Load().body, take)
	one.lastHeartbeat.Store(time.Now().UnixNano())
	return err
}

// registerAgain registers a game server whose lease has expired, as a real one does.
func (w *world) registerAgain(one *instance, err error) {
	if strings.HasPrefix(KindOf(err), "404 ") {
		_ = w.register(one) // when this fails, the next heartbeat fails too
	}
}

// keepAlive sends the heartbeats that the load itself does not send, until ctx ends.
func (w *world) keepAlive(ctx context.Context) error {
	for Pause(ctx, keepAliveInterval) == nil {
		var older []*instance
		w.mu.Lock()
		for _, one := range w.servers {
			last := one.lastHeartbeat.Load()
			if last != 0 && time.Since(time.Unix(0, last)) >= maxHeartbeatAge {
				older = append(older, one)
			}
		}
		w.mu.Unlock()
		_ = forEach(ctx, older, func(one *instance) error {
			w.registerAgain(one, w.sendHeartbeat(one.url, one, nil))
			return nil
		})
	}
	return nil
}

// countTaken returns the number of taken seats, which game servers read from the answer to a heartbeat.
func (w *world) countTaken(ctx context.Context, servers []*instance) (int, error) {
	var total atomic.Int64
	err := forEach(ctx, servers, func(one *instance) error {
		return w.sendHeartbeat(one.url, one, func(a []byte) error {
			total.Add(int64(one.registration.Capacity) - gjson.GetBytes(a, "available").Int())
			return nil
		})
	})
	return int(total.Load()), err
}

// deregister deregisters game servers, which ends their sessions. The leases of those that it does not reach expire.
func (w *world) deregister(ctx context.Context, servers []*instance) {
	_ = forEach(ctx, servers, func(one *instance) error {
		if one.lastHeartbeat.Swap(0) != 0 {
			_ = w.client.Post(one.url+"/fleet/deregister", w.fleetToken, one.identity.Load().body, nil)
		}
		return nil
	})
}
