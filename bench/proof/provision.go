package proof

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
)

// A worker starts game servers at a fake of Edgegap's API, which has its rate limits: a server is ready two seconds
// after it was asked for, registers and sends heartbeats. First, 200 players come at once to a pool without servers,
// and ask again every quarter of a second; waiting times are those of the database's clock, from the moment a server is
// ready until the player has a seat on it. Then the pool has thousands of servers, whose leases last a day: the CPU is
// that of the replica, the worker and Postgres, without heartbeats. One of the servers dies.
var provision = Experiment{
	Name: "provision", Title: "Servers on demand", Takes: "2 min", Run: runProvision,
	About: "How soon players on an empty pool play, and what a large pool costs that nobody enters or leaves",
}

// The limits of Edgegap's API, in calls a second.
var edgegapRates = provider.Rates{Deploy: 40, Get: 20, List: 10, Stop: 10}

const (
	edgegapKey      = "bench-edgegap-key"
	edgegapStarting = 2 * time.Second
	serverCapacity  = 8
	poolBuffer      = 2
)

func runProvision(ctx context.Context, o Options) (section Section, err error) {
	c, err := newCloud()
	if err != nil {
		return section, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var findings []Finding
	err = o.in(ctx, lab.Options{Worker: true, Env: c.settings()}, func(ctx context.Context, b *testbed) error {
		if err := c.serve(b.Replicas()[0].URL); err != nil {
			return err
		}
		if err := b.sql(ctx, "provision_pool.sql", serverCapacity, poolBuffer); err != nil {
			return err
		}
		r := rush{testbed: b, cloud: c, players: of(o, 200, 20)}
		if err := r.run(ctx); err != nil {
			return err
		}
		q := quiet{testbed: b, cloud: c, servers: of(o, 10_000, 100), over: of(o, 30*time.Second, 2*time.Second)}
		if err := q.run(ctx); err != nil {
			return err
		}
		findings = append(r.findings(), q.findings()...)
		return nil
	})
	return Section{Findings: findings}, err
}

// cloud is the fake of Edgegap's API, and the address at which its servers and webhooks reach the replica.
type cloud struct {
	fake    *edgegaptest.Fake
	api     *http.Server
	public  *http.Server
	apiURL  string
	pubURL  string
	replica atomic.Pointer[httputil.ReverseProxy] // nil before serve
}

func newCloud() (*cloud, error) {
	c := &cloud{fake: edgegaptest.New(edgegaptest.Options{
		Token: edgegapKey, StartAfter: edgegapStarting, Rates: edgegapRates, PageSize: 100, Run: simulateServer,
	})}
	c.api = &http.Server{Handler: c.fake, ReadHeaderTimeout: 10 * time.Second}
	c.public = &http.Server{Handler: http.HandlerFunc(c.forward), ReadHeaderTimeout: 10 * time.Second}
	for server, at := range map[*http.Server]*string{c.api: &c.apiURL, c.public: &c.pubURL} {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		*at = "http://" + l.Addr().String()
		go func() { _ = server.Serve(l) }()
	}
	return c, nil
}

func (c *cloud) close() error {
	c.fake.Close()
	return errors.Join(c.api.Close(), c.public.Close())
}

// settings are those of a director that uses this cloud.
func (c *cloud) settings() []string {
	return []string{
		"DIRECTOR_PROVIDERS=edgegap", "DIRECTOR_PROVISION_OWNER=bench", "DIRECTOR_PUBLIC_URL=" + c.pubURL,
		"DIRECTOR_EDGEGAP_URL=" + c.apiURL, "DIRECTOR_EDGEGAP_TOKEN=" + edgegapKey,
	}
}

// serve forwards what comes to the public address to a replica. Its port is known only once it runs.
func (c *cloud) serve(replica string) error {
	to, err := url.Parse(replica)
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	c.replica.Store(proxy)
	return nil
}

func (c *cloud) forward(w http.ResponseWriter, r *http.Request) {
	if proxy := c.replica.Load(); proxy != nil {
		proxy.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(http.StatusBadGateway)
}

// most watches the calls of an operation until stop is called, which returns the most of them in a second.
func (c *cloud) most(op string) (stop func() int) {
	done, result := make(chan struct{}), make(chan int)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		last, most := c.fake.Calls(op), 0
		for {
			select {
			case <-tick.C:
				now := c.fake.Calls(op)
				last, most = now, max(most, now-last)
			case <-done:
				result <- most
				return
			}
		}
	}()
	return func() int { close(done); return <-result }
}

// withinLimits is the finding that no call exceeded the limits of the API.
func (c *cloud) withinLimits() Finding {
	return noted(atMost("calls beyond the limits of the API", float64(c.fake.Violations()), 0, inFull), "%s",
		c.calls())
}

func (c *cloud) calls() string {
	return fmt.Sprintf("%d deploy, %d status, %d list, %d stop", c.fake.Calls("deploy"), c.fake.Calls("get"),
		c.fake.Calls("list"), c.fake.Calls("stop"))
}
