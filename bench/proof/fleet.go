package proof

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/db"
)

// A hundred thousand game servers, created by SQL, send a heartbeat every five seconds for two minutes: 20,000
// heartbeats are due each second, independent of answers, and latency counts from when they are due. They report a load
// that rises and falls over twenty minutes, so that one heartbeat in fourteen also moves a server to another bucket of
// load.
//
// HTTP for so many calls needs more CPU than two cores have left beside Postgres. The heartbeats are therefore sent to
// the store (package db), as a replica does after it has read them: one process, with the same number of connections
// and the same groups. The throughput of one replica over HTTP on this machine, with the load on the same machine, is
// measured before, in a closed loop of 256 callers.
var fleet = Experiment{
	Name: "fleet", Title: "A large fleet", Takes: "3 min", Run: runFleet,
	About: "Whether 100,000 game servers can send heartbeats every five seconds, and how the database copes; one round",
}

// heartbeatPlan is the rate and duration of a fleet's heartbeats.
type heartbeatPlan struct {
	members int
	every   time.Duration // interval of each game server's heartbeats
	settled time.Duration // after which sizes are first compared
	over    time.Duration
}

func (o Options) heartbeatPlan() heartbeatPlan {
	if o.Quick {
		return heartbeatPlan{1_000, time.Second, time.Second, 2 * time.Second}
	}
	return heartbeatPlan{100_000, 5 * time.Second, 30 * time.Second, 2 * time.Minute}
}

func (d heartbeatPlan) rate() float64 { return float64(d.members) / d.every.Seconds() }

func runFleet(ctx context.Context, o Options) (Section, error) {
	var http bench.Result
	var found *fleetRun
	err := o.in(ctx, lab.Options{}, func(ctx context.Context, b *testbed) (err error) {
		load := o.load(heartbeat)
		load.Callers, load.Instances, load.Duration = of(o, manyCallers, 8), of(o, 1000, 8), 2*load.Duration
		o.say("heartbeats over HTTP")
		if http, err = b.run(ctx, b.director(), load); err != nil {
			return err
		}
		found, err = b.sendHeartbeats(ctx, o.heartbeatPlan())
		return err
	})
	if err != nil {
		return Section{}, err
	}
	return Section{
		Findings: found.findings(http),
		Runs: []Run{{Name: "heartbeat over HTTP", Result: http},
			{Name: "heartbeat on the store", Result: found.result()}},
	}, nil
}

// fleetRun is the result of a fleet's heartbeats.
type fleetRun struct {
	heartbeatPlan
	heartbeats
	tables []tableSizes
	used   bench.Reading // by all processes of the laboratory and by this one
	took   time.Duration
}

// sendHeartbeats prefills a fleet and sends its heartbeats.
func (b *testbed) sendHeartbeats(ctx context.Context, d heartbeatPlan) (*fleetRun, error) {
	b.options.say("inserting %s game servers", whole(d.members))
	if err := b.sql(ctx, "fleet_instances.sql", "fleet", d.members); err != nil {
		return nil, err
	}
	if err := b.sql(ctx, "settle.sql"); err != nil {
		return nil, err
	}
	members, err := rowsOf[member](ctx, b.pool, "fleet_members.sql")
	if err != nil {
		return nil, err
	}
	found := &fleetRun{heartbeatPlan: d}
	store, err := db.Open(ctx, db.Config{URL: b.URL(), Observer: &found.heartbeats})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	b.options.say("%s heartbeats a second for %s", inFull(d.rate()), d.over)
	return found, found.measure(ctx, b, sender{store, members, d})
}

// measure samples the tables during the heartbeats, and reads the meter before and after them.
func (f *fleetRun) measure(ctx context.Context, b *testbed, by sender) error {
	before, err := b.Read(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	beating, done := context.WithCancel(ctx)
	running, alive := errgroup.WithContext(ctx)
	running.Go(func() error {
		defer done()
		return by.send(alive, &f.heartbeats)
	})
	running.Go(func() error { return f.sampleTables(alive, b, begun, beating.Done()) })
	if err := running.Wait(); err != nil {
		return err
	}
	f.took = time.Since(begun)
	after, err := b.Read(ctx)
	f.used = after.Sub(before)
	return err
}

func (f *fleetRun) findings(http bench.Result) []Finding {
	of := f.result()
	succeeded := float64(of.Calls-of.Failed) / f.rate() / f.over.Seconds()
	cores := func(used time.Duration) float64 { return used.Seconds() / f.took.Seconds() }
	return []Finding{
		noted(atLeast(fmt.Sprintf("heartbeats answered of the %s that are due each second for %s",
			inFull(f.rate()), f.over), succeeded, 0.999, percent),
			"p50 %s, p99 %s; %.0f in a transaction; failures: %s. Over HTTP one replica took %s, at %s of CPU each",
			millis(of.Latency.P50), millis(of.Latency.P99), float64(f.batched)/float64(f.batches),
			rounds{{heartbeat: of}}.kinds(heartbeat),
			perSecond(http.PerSecond), measured(cpu(http), micros)),
		noted(atMost("CPUs that Postgres used", cores(f.used.PostgresCPU), 1, two),
			"the store and the load %.2f, the idle replica %.2f",
			cores(f.used.GeneratorCPU), cores(f.used.ServerCPU)),
		noted(atLeast("HOT updates of "+leases, f.hot(leases), 0.99, percent),
			"of %s, where buckets of load change: %s", modes, percent(f.hot(modes))),
		f.stable(leases), f.stable(modes),
	}
}

func two(v float64) string { return fmt.Sprintf("%.2f", v) }

// stable makes the finding that a table does not grow after it has settled.
func (f *fleetRun) stable(name string) Finding {
	finding := atMost(fmt.Sprintf("%s with its index at the end, compared with after %s", name, f.settled),
		f.grown(name), 1.05, times)
	bytes := func(t table) string { return mebibytes(float64(t.Bytes)) }
	return noted(finding, "%s at the begin, %s after %s, %s at the end", bytes(f.at(0, name)),
		bytes(f.at(f.settled, name)), f.settled, bytes(f.last(name)))
}

// result has the form of a run over HTTP. The CPU of the load generator includes that of the store: they are one
// process.
func (f *fleetRun) result() bench.Result {
	figures := f.figures(f.over)
	per := func(v float64) float64 { return v / float64(max(figures.Calls, 1)) }
	micros := func(d time.Duration) float64 { return per(float64(d) / float64(time.Microsecond)) }
	return bench.Result{
		Scenario: heartbeat, Instances: f.members, Regions: 1, Modes: 2, Seconds: f.over.Seconds(), Figures: figures,
		Costs: &bench.Costs{
			ServerMicros: micros(f.used.ServerCPU), PostgresMicros: micros(f.used.PostgresCPU),
			GeneratorMicros: micros(f.used.GeneratorCPU),
			WALBytes:        per(float64(f.used.WALBytes)), Transactions: per(float64(f.used.Transactions)),
			ServerRSS: f.used.ServerRSS,
		},
	}
}
