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
	// goodbye is for deregistering. What is left then goes when its lease ends.
	goodbye = 10 * time.Second
	// atOnce bounds how many instances register, beat for their lives or deregister at a time. A director decides
	// together what comes together.
	atOnce = 256
)

// instance is a game server that exists on the wire only.
type instance struct {
	id, endpoint, region, url string

	life   atomic.Pointer[life] // what the director knows it as; nil before it has registered
	beaten atomic.Int64         // when it last registered or beat, in Unix nanoseconds; 0: it does not live
}

// life is from one register to the next.
type life struct {
	ID          string `json:"instance_id"`
	Incarnation string `json:"incarnation"`

	body []byte // of heartbeat and deregister: both of these
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
	client *client
	urls   []string
	places places
	seats  int          // of each
	turn   atomic.Int64 // who beats next

	all        []*instance // made by register, and not changed after it
	byEndpoint map[string]*instance

	mu    sync.Mutex
	fresh []*instance // registered by the load itself, and left alone after that
}

func newFleet(c *client, urls []string, p places, seats int) *fleet {
	return &fleet{client: c, urls: urls, places: p, seats: seats, byEndpoint: map[string]*instance{}}
}

// instance makes the nth game server of a kind, which does not live yet.
func (f *fleet) instance(kind string, n int) *instance {
	name := fmt.Sprintf("bench-%s-%s%d", f.places.id, kind, n)
	return &instance{id: name, endpoint: name + ".invalid:7777", region: f.places.regions[n%len(f.places.regions)], url: f.urls[n%len(f.urls)]}
}

// register brings n game servers to life. Of many the first have got old before the last have come: in between they beat.
func (f *fleet) register(ctx context.Context, n int) error {
	for i := range n {
		one := f.instance("", i)
		f.all = append(f.all, one)
		f.byEndpoint[one.endpoint] = one
	}
	for some := range slices.Chunk(f.all, 4*atOnce) {
		if err := f.registerSome(ctx, some); err != nil {
			return err
		}
		f.freshen(ctx, overdue)
	}
	return ctx.Err()
}

func (f *fleet) registerSome(ctx context.Context, some []*instance) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
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

// registered takes the answer of register: from now on it lives.
func (one *instance) registered(a answer) error {
	is := &life{ID: one.id}
	if err := a.read(member{"incarnation", &is.Incarnation}); err != nil {
		return err
	}
	is.body = encode(is)
	one.life.Store(is)
	one.beaten.Store(time.Now().UnixNano())
	return nil
}

// next is the instance whose turn it is.
func (f *fleet) next() *instance { return f.all[int(f.turn.Add(1)-1)%len(f.all)] }

// beat sends a heartbeat, well or not.
func (f *fleet) beat(url string, one *instance) error {
	err := f.client.asFleet(url+"/fleet/heartbeat", one.life.Load().body, nothing)
	one.beaten.Store(time.Now().UnixNano())
	return err
}

// revive registers a game server again whose lease has ended, as a real one does.
func (f *fleet) revive(one *instance, err error) {
	if said, ok := errors.AsType[*failure](err); ok && said.status == http.StatusNotFound {
		_ = f.registerOne(one) // then the next beat fails
	}
}

// add keeps an instance that the load has registered, to deregister it in the end.
func (f *fleet) add(one *instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.fresh) < MaxInstances {
		f.fresh = append(f.fresh, one)
	}
}

// deregister also works after ctx has ended.
func (f *fleet) deregister(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	client := newClient(ctx, f.client.fleetToken, atOnce)
	defer client.close()
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, one := range append(f.all, f.fresh...) {
		if one.beaten.Swap(0) == 0 || ctx.Err() != nil {
			continue
		}
		group.Go(func() error { return client.asFleet(one.url+"/fleet/deregister", one.life.Load().body, nothing) })
	}
	_ = group.Wait() // see goodbye
}
