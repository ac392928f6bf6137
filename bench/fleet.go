package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"
)

const (
	// deregisterTimeout bounds deregistering. The leases of the other game servers expire.
	deregisterTimeout = 10 * time.Second
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

// fleet is the game servers of a run.
type fleet struct {
	client *Client
	token  Credential
	kind   string // part of the names of its game servers, beside other fleets of the run; "" is the usual one
	urls   []string
	places places
	seats  int          // of each game server
	turns  atomic.Int64 // heartbeats and registrations of the load

	members    []*instance // set by register, then constant
	byEndpoint map[string]*instance
}

// newFleet makes a fleet without game servers.
func newFleet(c *Client, o Options, kind string, p places, seats int) *fleet {
	return &fleet{client: c, token: FleetToken(o.FleetToken), kind: kind, urls: o.URLs, places: p, seats: seats,
		byEndpoint: map[string]*instance{}}
}

// newInstance makes the nth game server of a kind, not registered yet.
func (f *fleet) newInstance(kind string, n int) *instance {
	name := fmt.Sprintf("bench-%s-%s%d", f.places.id, kind, n)
	return &instance{id: name, endpoint: name + ".invalid:7777", region: f.places.regions[n%len(f.places.regions)],
		url: f.urls[n%len(f.urls)]}
}

// forEach calls do for game servers concurrently, until the first error.
func forEach(ctx context.Context, members []*instance, do func(one *instance) error) error {
	return Concurrently(ctx, len(members), maxConcurrent, func(_ context.Context, i int) error { return do(members[i]) })
}

// register registers n game servers. Between chunks it sends the heartbeats of those that have waited long.
func (f *fleet) register(ctx context.Context, n int) error {
	for i := range n {
		one := f.newInstance(f.kind, i)
		f.members = append(f.members, one)
		f.byEndpoint[one.endpoint] = one
	}
	// the first must not expire while the last register
	for some := range slices.Chunk(f.members, 4*maxConcurrent) {
		if err := forEach(ctx, some, f.registerOne); err != nil {
			return err
		}
		f.heartbeatOlder(ctx, maxHeartbeatAge)
	}
	return ctx.Err()
}

// registerOne registers a game server, also again, and keeps the incarnation of the answer.
func (f *fleet) registerOne(one *instance) error {
	if err := f.client.Post(one.url+"/fleet/register", f.token, f.registration(one), one.readIncarnation); err != nil {
		return fmt.Errorf("a game server cannot register at %s: %w", one.url, err)
	}
	return nil
}

// registration is the body of register.
func (f *fleet) registration(one *instance) []byte {
	return encode(registration{one.id, one.endpoint, one.region, f.places.modes, f.seats, one.id, true})
}

// readIncarnation reads the answer of register.
func (one *instance) readIncarnation(a []byte) error {
	is := &identity{ID: one.id}
	if err := readStrings(a, member{"incarnation", &is.Incarnation}); err != nil {
		return err
	}
	is.body = encode(is)
	one.identity.Store(is)
	one.lastHeartbeat.Store(time.Now().UnixNano())
	return nil
}

// next returns the instance whose turn it is.
func (f *fleet) next() *instance { return f.members[int(f.turns.Add(1)-1)%len(f.members)] }

// heartbeat sends a heartbeat. A failed one counts as sent, too: keepAlive does not repeat it at once.
func (f *fleet) heartbeat(url string, one *instance, take func(answer []byte) error) error {
	err := f.client.Post(url+"/fleet/heartbeat", f.token, one.identity.Load().body, take)
	one.lastHeartbeat.Store(time.Now().UnixNano())
	return err
}

// registerAgain registers a game server whose lease has expired, as a real one does.
func (f *fleet) registerAgain(one *instance, err error) {
	if strings.HasPrefix(KindOf(err), "404 ") {
		_ = f.registerOne(one) // when this fails, the next heartbeat fails too
	}
}

// keepAlive sends the heartbeats that the load itself does not send, until ctx ends.
func (f *fleet) keepAlive(ctx context.Context) {
	for Pause(ctx, keepAliveInterval) == nil {
		f.heartbeatOlder(ctx, maxHeartbeatAge)
	}
}

// heartbeatOlder sends one heartbeat of each instance whose last one is older.
func (f *fleet) heartbeatOlder(ctx context.Context, than time.Duration) {
	var older []*instance
	for _, one := range f.members {
		if last := one.lastHeartbeat.Load(); last != 0 && time.Since(time.Unix(0, last)) >= than {
			older = append(older, one)
		}
	}
	_ = forEach(ctx, older, func(one *instance) error {
		f.registerAgain(one, f.heartbeat(one.url, one, nil))
		return nil
	})
}

// countTaken returns the number of taken seats, which game servers read from the answer to a heartbeat.
func (f *fleet) countTaken(ctx context.Context) (int, error) {
	var total atomic.Int64
	err := forEach(ctx, f.members, func(one *instance) error {
		return f.heartbeat(one.url, one, func(a []byte) error {
			total.Add(int64(f.seats) - gjson.GetBytes(a, "available").Int())
			return nil
		})
	})
	return int(total.Load()), err
}

// deregister also works after ctx has ended. What takes too long is left to the leases.
func (f *fleet) deregister(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deregisterTimeout)
	defer cancel()
	client := NewClient(ctx, maxConcurrent) // that of the run may have ended with its ctx
	defer client.Close()
	_ = forEach(ctx, f.members, func(one *instance) error {
		if one.lastHeartbeat.Swap(0) != 0 {
			_ = client.Post(one.url+"/fleet/deregister", f.token, one.identity.Load().body, nil)
		}
		return nil
	})
}
