package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
	"github.com/lattice-director/director/sdk"
)

// A worker starts game servers at a fake of Edgegap's API, which has its rate limits: a server is ready two seconds
// after it was asked for, registers and sends heartbeats. First, 200 players come at once to a pool without servers,
// and ask again every quarter of a second; waiting times are those of the database's clock, from the moment a server is
// ready until the player has a seat on it. Then the pool has thousands of servers, whose leases last a day: the CPU is
// that of the replica, the worker and Postgres, without heartbeats. One of the servers dies. One round.
var provision = Experiment{
	Name: "provision", Title: "Servers on demand", Takes: "2 min", isOnce: true,
	About: "How soon players on an empty pool play, and what a large pool costs that nobody enters or leaves",
	lab:   lab.Options{Worker: true}, prepare: openCloud, arms: provisionArms,
	claims: []claim{
		{"players with a seat", medianValue(emptyPool, "players", inFull), atLeast(rushed)},
		{fmt.Sprintf("servers started, of which %d hold all players and %d are the buffer", rushed/serverCapacity,
			poolBuffer), medianValue(emptyPool, "servers", inFull),
			atMost(rushed/serverCapacity + poolBuffer)},
		{"wait for a seat after the server is ready, p99", medianValue(emptyPool, "wait p99", millis), atMost(500)},
		{"status calls, in the second with most", medianValue(emptyPool, "most status calls", perSecond),
			atMost(edgegapRates.Get)},
		{"CPU while nothing happens", median(quietPool, coresOf(cpu)), atMost(0.2)},
		{"a dead server is found after the end of its lease within", medianValue(quietPool, "found after", inSeconds),
			atMost(2)},
		{"calls beyond the limits of the API", medianValue(quietPool, "violations", inFull), atMost(0)},
	},
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
	rushed         = 200 // players who come to an empty pool
	serverCapacity = 8
	poolBuffer     = 2
)

// cloud is the fake of Edgegap's API.
type cloud = edgegaptest.Fake

// openCloud starts the cloud, and sets the settings of a director that uses it.
func openCloud(b *testbed, l *lab.Options) error {
	b.cloud = edgegaptest.New(edgegaptest.Options{
		Token: edgegapKey, StartAfter: 2 * time.Second, Rates: edgegapRates, PageSize: 100, Run: runGameServer,
	})
	api := httptest.NewServer(b.cloud) // the worker calls it over HTTP, as it calls Edgegap
	b.closers = append(b.closers, func() error { b.cloud.Close(); api.Close(); return nil })
	l.Env = append(l.Env, "DIRECTOR_PROVIDERS=edgegap", "DIRECTOR_PROVISION_OWNER=bench",
		"DIRECTOR_EDGEGAP_URL="+api.URL, "DIRECTOR_EDGEGAP_TOKEN="+edgegapKey)
	return nil
}

// runGameServer is a game server that runs until ctx ends. One that cannot register is missing in the figures.
func runGameServer(ctx context.Context, env map[string]string) {
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	deployed, _, err := sdk.Deployed(environ)
	if err != nil {
		return
	}
	client, err := sdk.New(sdk.Options{URLs: deployed.URLs})
	if err != nil {
		return
	}
	defer client.Close()
	if server, err := sdk.Start(ctx, client, deployed.Server); err == nil {
		<-ctx.Done()
		_ = server.Close(ctx) // at once: the director is gone as well
	}
}

// provisionArms are measured in this order: the quiet pool has the servers of the rush as well.
func provisionArms(ctx context.Context, b *testbed) ([]arm, error) {
	// Both arms need the pool.
	if err := b.sql(ctx, "provision_pool.sql", serverCapacity, poolBuffer); err != nil {
		return nil, err
	}
	quiet := b.director(lab.Web).arm(quietPool, bench.Options{
		// A call is a second, so that its costs are those of a second.
		Scenario: bench.Scenario{Name: "second", Begin: bench.Turns(func(ctx context.Context, _ *bench.Caller) error {
			return bench.Pause(ctx, time.Second)
		})},
		Load: bench.Load{Callers: 1}, Duration: 30 * time.Second,
	})
	quiet.preparation = []step{b.script("provision_servers.sql", choose(b.options, 10_000, 100), serverCapacity)}
	quiet.complete = func(ctx context.Context, r *bench.Result) error {
		// Leases here last a day. That of one server now ends as if its last heartbeat had just come.
		if err := b.sql(ctx, "provision_dies.sql"); err != nil {
			return err
		}
		r.Values["violations"] = float64(b.cloud.Violations())
		return b.addValues("provision_found.sql")(ctx, r)
	}
	mostCalls := 0
	rush := arm{
		name: emptyPool, on: b.director(lab.Web), run: b.seatRush,
		beside: func(ctx context.Context) error {
			for last := b.cloud.Calls("get"); bench.Pause(ctx, time.Second) == nil; {
				now := b.cloud.Calls("get")
				last, mostCalls = now, max(mostCalls, now-last)
			}
			return nil
		},
		complete: func(ctx context.Context, r *bench.Result) error {
			r.Values["most status calls"] = float64(mostCalls)
			return b.addValues("provision_seated.sql")(ctx, r)
		},
	}
	return []arm{rush, quiet}, nil
}

// seatRush lets players come at once to an empty pool, each of whom asks until they have a seat. The latency is the time
// until all have seats.
func (b *testbed) seatRush(ctx context.Context) (bench.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	start, players := time.Now(), choose(b.options, rushed, 20)
	client := bench.NewClient(ctx)
	body, err := json.Marshal(map[string]any{"region": "bench", "mode": "bench", "max_players": serverCapacity})
	if err != nil {
		return bench.Result{}, err
	}
	err = bench.Concurrently(ctx, players, 0, func(ctx context.Context, n int) error {
		token, err := b.mint(fmt.Sprint("player-", n))
		for err == nil {
			err = client.Post(b.lab.Replicas[0].At(lab.Web)+"/matchmake", bench.Bearer(token), body, nil)
			if !strings.HasPrefix(bench.KindOf(err), "409 ") { // a seat, or an error; 409 means no server yet
				return err
			}
			err = bench.Pause(ctx, 250*time.Millisecond)
		}
		return err
	})
	return bench.ResultOf(emptyPool, players, time.Since(start)), err
}
