package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// deregisterTimeout bounds deregistering. The leases of the other game servers expire.
	deregisterTimeout = 10 * time.Second
	// maxConcurrent is how many instances register, send heartbeats or deregister at a time: enough for large batches.
	maxConcurrent = 256
)

// instance is a game server that consists of its calls only.
type instance struct {
	id, endpoint, region, url string

	identity      atomic.Pointer[identity] // nil before it has registered
	lastHeartbeat atomic.Int64             // or registration, in Unix nanoseconds; 0: it is not registered
}

// identity is that of one registration.
type identity struct {
	ID          string `json:"instance_id"`
	Incarnation string `json:"incarnation"`

	body []byte // of heartbeat and deregister: the identity as JSON
}

// registration is the body of register.
type registration struct {
	ID           string   `json:"instance_id"`
	Endpoint     string   `json:"endpoint"`
	Region       string   `json:"region"`
	Modes        []string `json:"modes"`
	Capacity     int      `json:"capacity"`
	BootID       string   `json:"boot_id"`
	ReportsSeats bool     `json:"reports_seats"`
}

// fleet is the game servers of a run.
type fleet struct {
	client *Client
	kind   string // part of the names of its game servers, beside other fleets of the run; "" is the usual one
	urls   []string
	places places
	seats  int          // of each game server
	turn   atomic.Int64 // of the next heartbeat

	all        []*instance // set by register, then constant
	byEndpoint map[string]*instance

	mu    sync.Mutex
	fresh []*instance // registered by the scenario register; they get no heartbeats
}

func newFleet(c *Client, urls []string, p places, seats int) *fleet {
	return &fleet{client: c, urls: urls, places: p, seats: seats, byEndpoint: map[string]*instance{}}
}

// instance makes the nth game server of a kind, not registered yet.
func (f *fleet) instance(kind string, n int) *instance {
	name := fmt.Sprintf("bench-%s-%s%d", f.places.id, kind, n)
	return &instance{id: name, endpoint: name + ".invalid:7777", region: f.places.regions[n%len(f.places.regions)],
		url: f.urls[n%len(f.urls)]}
}

// register registers n game servers. Between chunks it sends the heartbeats of those that have waited long.
func (f *fleet) register(ctx context.Context, n int) error {
	for i := range n {
		one := f.instance(f.kind, i)
		f.all = append(f.all, one)
		f.byEndpoint[one.endpoint] = one
	}
	for some := range slices.Chunk(f.all, 4*maxConcurrent) {
		if err := f.registerSome(ctx, some); err != nil {
			return err
		}
		f.heartbeatOlder(ctx, maxHeartbeatAge)
	}
	return ctx.Err()
}

func (f *fleet) registerSome(ctx context.Context, some []*instance) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrent)
	for _, one := range some {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return f.registerOne(one)
		})
	}
	return group.Wait()
}

func (f *fleet) registerOne(one *instance) error {
	if err := f.client.asFleet(one.url+"/fleet/register", f.registration(one), one.registered); err != nil {
		return fmt.Errorf("a game server cannot register at %s: %w", one.url, err)
	}
	return nil
}

func (f *fleet) registration(one *instance) []byte {
	return encode(registration{one.id, one.endpoint, one.region, f.places.modes, f.seats, one.id, true})
}

// registered reads the answer of register.
func (one *instance) registered(a answer) error {
	is := &identity{ID: one.id}
	if err := a.read(member{"incarnation", &is.Incarnation}); err != nil {
		return err
	}
	is.body = encode(is)
	one.identity.Store(is)
	one.lastHeartbeat.Store(time.Now().UnixNano())
	return nil
}

// next returns the instance whose turn it is.
func (f *fleet) next() *instance { return f.all[int(f.turn.Add(1)-1)%len(f.all)] }

// heartbeat sends a heartbeat. A failed one counts as sent, too: keepAlive does not repeat it at once.
func (f *fleet) heartbeat(url string, one *instance) error {
	err := f.client.asFleet(url+"/fleet/heartbeat", one.identity.Load().body, ignoreAnswer)
	one.lastHeartbeat.Store(time.Now().UnixNano())
	return err
}

// registerAgain registers a game server whose lease has expired, as a real one does.
func (f *fleet) registerAgain(one *instance, err error) {
	if said, ok := errors.AsType[*failure](err); ok && said.status == http.StatusNotFound {
		_ = f.registerOne(one) // when this fails, the next heartbeat fails too
	}
}

// add remembers an instance that the scenario register has registered, so that the end of the run deregisters it.
func (f *fleet) add(one *instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.fresh) < MaxInstances {
		f.fresh = append(f.fresh, one)
	}
}

// deregister also works after ctx has ended.
func (f *fleet) deregister(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deregisterTimeout)
	defer cancel()
	client := NewClient(ctx, f.client.fleetToken, maxConcurrent)
	defer client.Close()
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
	for _, one := range append(f.all, f.fresh...) {
		if one.lastHeartbeat.Swap(0) == 0 || ctx.Err() != nil {
			continue
		}
		group.Go(func() error {
			return client.asFleet(one.url+"/fleet/deregister", one.identity.Load().body, ignoreAnswer)
		})
	}
	_ = group.Wait() // see deregisterTimeout
}
