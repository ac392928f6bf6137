package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
)

// A worker starts game servers at a fake of Edgegap's API, which has its rate limits: a server is ready two seconds
// after it was asked for, registers and sends heartbeats. First, 200 players come at once to a pool without servers,
// and ask again every quarter of a second; waiting times are those of the database's clock, from the moment a server is
// ready until the player has a seat on it. Then the pool has thousands of servers, whose leases last a day: the CPU is
// that of the replica, the worker and Postgres, without heartbeats. One of the servers dies. One round.
var provision = Experiment{
	Name: "provision", Title: "Servers on demand", Takes: "2 min", isOnce: true,
	About: "How soon players on an empty pool play, and what a large pool costs that nobody enters or leaves",
	parts: func(Options) []part {
		c := &cloud{}
		return []part{{lab: lab.Options{Worker: true}, prepare: c.open, arms: c.arms}}
	},
	claims: provisionClaims,
}

// The arms, by their names in the report.
const (
	emptyPool = "players on an empty pool"
	quietPool = "a large pool, in which nothing happens"
)

// The limits of Edgegap's API, in calls a second.
var edgegapRates = provider.Rates{Deploy: 40, Get: 20, List: 10, Stop: 10}

const (
	edgegapKey     = "bench-edgegap-key"
	serverCapacity = 8
	poolBuffer     = 2
)

// cloud is the fake of Edgegap's API, and its game servers.
type cloud struct {
	fake   *edgegaptest.Fake
	client *bench.Client // of its game servers
}

// open starts the cloud, and sets the settings of a director that uses it.
func (c *cloud) open(l *lab.Options) (end func() error, err error) {
	ctx, stop := context.WithCancel(context.Background())
	c.client = bench.NewClient(ctx, 512)
	c.fake = edgegaptest.New(edgegaptest.Options{
		Token: edgegapKey, StartAfter: 2 * time.Second, Rates: edgegapRates, PageSize: 100, Run: c.simulateServer,
	})
	api := httptest.NewServer(c.fake) // the worker calls it over HTTP, as it calls Edgegap
	l.Env = append(l.Env, "DIRECTOR_PROVIDERS=edgegap", "DIRECTOR_PROVISION_OWNER=bench",
		"DIRECTOR_EDGEGAP_URL="+api.URL, "DIRECTOR_EDGEGAP_TOKEN="+edgegapKey)
	return func() error {
		c.fake.Close()
		stop()
		c.client.Close()
		api.Close()
		return nil
	}, nil
}

// simulateServer is a game server that runs until ctx ends: it registers as its environment says, and sends heartbeats.
func (c *cloud) simulateServer(ctx context.Context, env map[string]string) {
	capacity, _ := strconv.Atoi(env["LATTICE_CAPACITY"])
	id := env["LATTICE_DEPLOYMENT_ID"]
	call := func(path string, body map[string]any, answer any) {
		// a call that fails is made again: register until there is an incarnation, heartbeats at the next interval
		_ = c.client.Post(env["DIRECTOR_URL"]+path, bench.FleetToken(env["FLEET_TOKEN"]), toJSON(body),
			func(a []byte) error { return json.Unmarshal(a, answer) })
	}
	var registered struct{ Incarnation string }
	for registered.Incarnation == "" {
		call("/fleet/register", map[string]any{"instance_id": id, "region": env["LATTICE_REGION"],
			"modes": strings.Split(env["LATTICE_MODES"], ","), "capacity": capacity, "boot_id": id}, &registered)
		if bench.Pause(ctx, 200*time.Millisecond) != nil {
			return
		}
	}
	for bench.Pause(ctx, 5*time.Second) == nil { // a third of the lease, as the SDK does
		call("/fleet/heartbeat", map[string]any{"instance_id": id, "incarnation": registered.Incarnation}, &struct{}{})
	}
}

// toJSON encodes the body of a call.
func toJSON(v any) []byte {
	encoded, _ := json.Marshal(v) // maps of strings and numbers
	return encoded
}

// arms are measured in this order: the quiet pool has the servers of the rush as well.
func (c *cloud) arms(ctx context.Context, b *testbed) ([]arm, error) {
	p := pool{bed: b, cloud: c, rushed: b.options.rushed(), servers: choose(b.options, 10_000, 100),
		quietFor: choose(b.options, 30*time.Second, 2*time.Second)}
	return []arm{
		{name: emptyPool, run: p.seatRush},
		arm{name: quietPool, run: p.stayQuiet}.prepare(b.script("provision_servers.sql", p.servers, serverCapacity), b.settle),
	}, b.sql(ctx, "provision_pool.sql", serverCapacity, poolBuffer)
}

// rushed is how many players come to an empty pool.
func (o Options) rushed() int { return choose(o, 200, 20) }

// calls returns the number of calls of the provider's API so far.
func (c *cloud) calls() (sum int) {
	for _, operation := range []string{"deploy", "get", "list", "stop"} {
		sum += c.fake.Calls(operation)
	}
	return sum
}

// mostCalls watches the calls of an operation until ctx ends, and keeps the most of them in a second.
func (c *cloud) mostCalls(operation string, most *int) func(context.Context) error {
	return func(ctx context.Context) error {
		for last := c.fake.Calls(operation); bench.Pause(ctx, time.Second) == nil; {
			now := c.fake.Calls(operation)
			last, *most = now, max(*most, now-last)
		}
		return nil
	}
}

// pool is the pool of servers that is measured.
type pool struct {
	bed      *testbed
	cloud    *cloud
	rushed   int
	servers  int
	quietFor time.Duration
}

// seatRush lets players come at once to an empty pool. The latency is the time until all have seats.
func (p pool) seatRush(ctx context.Context) (bench.Result, error) {
	most, start := 0, time.Now()
	a := arm{run: func(ctx context.Context) (bench.Result, error) {
		err := p.askForSeats(ctx)
		return bench.ResultOf(emptyPool, p.rushed, time.Since(start)), err
	}}
	r, err := a.beside(p.cloud.mostCalls("get", &most)).run(ctx)
	if err != nil {
		return r, err
	}
	if r.Values, err = p.bed.valuesOf(ctx, "provision_seated.sql"); err != nil {
		return r, err
	}
	r.Values["most status calls"] = float64(most)
	return r, nil
}

// askForSeats lets each player ask until they have a seat.
func (p pool) askForSeats(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	client := bench.NewClient(ctx, p.rushed)
	defer client.Close()
	body := toJSON(map[string]any{"region": "bench", "mode": "bench", "max_players": serverCapacity})
	return bench.Concurrently(ctx, p.rushed, 0, func(ctx context.Context, n int) error {
		token, err := p.bed.mint(fmt.Sprint("player-", n))
		for err == nil {
			err = client.Post(p.bed.lab.Replicas[0].At(lab.Web)+"/matchmake", bench.Bearer(token), body, nil)
			if !strings.HasPrefix(bench.KindOf(err), "409 ") { // a seat, or an error; 409 means no server yet
				return err
			}
			err = bench.Pause(ctx, 250*time.Millisecond)
		}
		return err
	})
}

// lostServer is the server that died.
type lostServer struct{ Delay float64 } // seconds from the end of its lease until it was found

// stayQuiet measures while nothing happens, until one of the servers dies. Its latency is the time from the end of the
// server's lease until it was found.
func (p pool) stayQuiet(ctx context.Context) (bench.Result, error) {
	before, err := p.bed.lab.Read(ctx)
	if err != nil {
		return bench.Result{}, err
	}
	callsBefore := p.cloud.calls()
	if err := bench.Pause(ctx, p.quietFor); err != nil {
		return bench.Result{}, err
	}
	after, err := p.bed.lab.Read(ctx)
	if err != nil {
		return bench.Result{}, err
	}
	callsAfter := p.cloud.calls()
	// the last heartbeat of a server becomes one of now
	if err := p.bed.sql(ctx, "provision_dies.sql"); err != nil {
		return bench.Result{}, err
	}
	lost, err := awaitRow[lostServer](ctx, p.bed.pool, 2*time.Minute, "provision_found.sql")
	used := after.Plus(before, -1)
	r := bench.ResultOf(quietPool, p.servers, time.Duration(lost.Delay*float64(time.Second)))
	r.Values = map[string]float64{
		"director": used.ServerCPU.Seconds() / p.quietFor.Seconds(),
		"postgres": used.PostgresCPU.Seconds() / p.quietFor.Seconds(),
		"calls":    float64(callsAfter - callsBefore), "violations": float64(p.cloud.fake.Violations()),
	}
	return r, err
}

func provisionClaims(o Options) []claim {
	needed := (o.rushed() + serverCapacity - 1) / serverCapacity
	value := func(arm, name string, in unit) measure { return median(arm, valueOf(name, in)) }
	busy := figure{func(r bench.Result) float64 { return r.Values["director"] + r.Values["postgres"] }, inCores}
	return []claim{
		{"players with a seat", value(emptyPool, "players", inFull), atLeast(float64(o.rushed()))},
		{fmt.Sprintf("servers started, of which %d hold all players and %d are the buffer", needed, poolBuffer),
			value(emptyPool, "servers", inFull), atMost(float64(needed + poolBuffer))},
		{"wait for a seat after the server is ready, p99", value(emptyPool, "wait p99", millis), atMost(500)},
		{"status calls, in the second with most", value(emptyPool, "most status calls", perSecond),
			atMost(edgegapRates.Get)},
		{"CPU while nothing happens", median(quietPool, busy), atMost(0.2)},
		{"a dead server is found after the end of its lease within", median(quietPool, p50), atMost(2000)},
		{"calls beyond the limits of the API", value(quietPool, "violations", inFull), atMost(0)},
	}
}
