package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	mode = "bench"
	// capacity in seats is the largest that the API allows: what is measured is placement, not a full house.
	capacity = 100_000
	// beatEvery is a third of the default lease.
	beatEvery = 5 * time.Second
	// goodbye is for deregistering. What is left then goes when its lease ends.
	goodbye = 10 * time.Second
	// atOnce bounds how many instances register or deregister at a time.
	atOnce = 16
)

// instance is a game server that exists on the wire only.
type instance struct {
	ID          string `json:"instance_id"`
	Incarnation string `json:"incarnation,omitempty"`

	endpoint, url string
}

// fleet is the game servers of a run. Its methods but keepAlive are for one at a time; lookups may follow registration by many.
type fleet struct {
	client     *client
	urls       []string
	id, region string
	all        []*instance
	byEndpoint map[string]*instance
}

func newFleet(c *client, urls []string, id string) *fleet {
	return &fleet{client: c, urls: urls, id: id, region: "bench-" + id, byEndpoint: map[string]*instance{}}
}

func (f *fleet) register(ctx context.Context, n int) error {
	for i := range n {
		name := fmt.Sprintf("bench-%s-%d", f.id, i)
		one := &instance{ID: name, endpoint: name + ".invalid:7777", url: f.urls[i%len(f.urls)]}
		f.all = append(f.all, one)
		f.byEndpoint[one.endpoint] = one
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, one := range f.all {
		group.Go(func() error { return f.registerOne(ctx, one) })
	}
	return group.Wait()
}

func (f *fleet) registerOne(ctx context.Context, one *instance) error {
	body := map[string]any{
		"instance_id": one.ID, "endpoint": one.endpoint, "region": f.region, "modes": []string{mode}, "capacity": capacity, "reports_seats": true,
	}
	if err := f.client.asFleet(ctx, one.url+"/fleet/register", body, one); err != nil {
		return fmt.Errorf("a game server cannot register at %s: %w", one.url, err)
	}
	return nil
}

func (f *fleet) beat(ctx context.Context, one *instance) error {
	return f.client.asFleet(ctx, one.url+"/fleet/heartbeat", one, nil)
}

// keepAlive beats for all until ctx ends. A beat that fails is followed by the next.
func (f *fleet) keepAlive(ctx context.Context) {
	var beats sync.WaitGroup
	for _, one := range f.all {
		beats.Go(func() {
			ticks := time.NewTicker(beatEvery)
			defer ticks.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticks.C:
					_ = f.beat(ctx, one)
				}
			}
		})
	}
	beats.Wait()
}

// deregister also works after ctx has ended.
func (f *fleet) deregister(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, one := range f.all {
		group.Go(func() error { return f.client.asFleet(ctx, one.url+"/fleet/deregister", one, nil) })
	}
	_ = group.Wait() // see goodbye
}
