package proof

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
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
	Name: "fleet", Title: "A large fleet", Takes: "3 min", isOnce: true,
	About: "Whether 100,000 game servers can send heartbeats every five seconds, and how the database copes; one round",
	parts: inOneLab(lab.Options{}, fleetArms), claims: fleetClaims,
}

const (
	overHTTP = "heartbeat over HTTP"
	onStore  = "heartbeat on the store"
)

// heartbeatPlan is the rate and duration of a fleet's heartbeats.
type heartbeatPlan struct {
	members  int
	interval time.Duration // of each game server's heartbeats
	settling time.Duration // after which sizes are first compared
	duration time.Duration
}

// heartbeatPlan is that of the experiment.
func (o Options) heartbeatPlan() heartbeatPlan {
	return choose(o, heartbeatPlan{100_000, 5 * time.Second, 30 * time.Second, 2 * time.Minute},
		heartbeatPlan{1_000, time.Second, time.Second, 2 * time.Second})
}

// rate is the heartbeats that are due each second.
func (p heartbeatPlan) rate() float64 { return float64(p.members) / p.interval.Seconds() }

// fleetArms measure one replica over HTTP, then the fleet on the store.
func fleetArms(_ context.Context, b *testbed) ([]arm, error) {
	run := b.options.loadPrefilled(heartbeat)
	run.Load.Callers, run.Load.Instances = choose(b.options, manyCallers, 8), choose(b.options, 1000, 8)
	run.Duration *= 2
	return []arm{b.arm(overHTTP, b.director(lab.Web), run), {name: onStore, run: b.sendHeartbeats}}, nil
}

// sendHeartbeats inserts a fleet and sends its heartbeats to a store.
func (b *testbed) sendHeartbeats(ctx context.Context) (bench.Result, error) {
	plan := b.options.heartbeatPlan()
	b.options.say("inserting %s game servers", whole(plan.members))
	if err := b.sql(ctx, "fleet_instances.sql", "fleet", plan.members); err != nil {
		return bench.Result{}, err
	}
	if err := b.settle(ctx); err != nil { // else autovacuum would run in the middle of the heartbeats
		return bench.Result{}, err
	}
	store, err := db.Open(ctx, db.Config{URL: b.lab.URL()})
	if err != nil {
		return bench.Result{}, err
	}
	defer store.Close()
	members, err := rowsOf[member](ctx, b.pool, "fleet_members.sql")
	if err != nil {
		return bench.Result{}, err
	}
	b.options.say("%s heartbeats a second for %s", inFull(plan.rate()), plan.duration)
	load := bench.Options{
		Scenario: bench.Scenario{Name: onStore, Begin: bench.Turns((&sender{store: store, members: members}).send)},
		Load:     bench.Load{Callers: bench.MaxInFlight, Rate: plan.rate()}, Duration: plan.duration,
	}
	var sizes tableSamples
	a := b.arm(onStore, b.director(lab.Web), load).prepare(sizes.sample(b)).
		beside(func(ctx context.Context) error { return sizes.sampleAfter(ctx, b, plan.settling) }).
		finish(func(ctx context.Context, r *bench.Result) error {
			r.Values["answered"] = float64(r.Calls-r.Failed) / (plan.rate() * plan.duration.Seconds())
			if err := sizes.sample(b)(ctx); err != nil {
				return err
			}
			sizes.addValues(r.Values)
			return nil
		})
	return a.run(ctx)
}

// member is a game server of a fleet.
type member struct {
	InstanceID  string
	Incarnation uuid.UUID
}

// sender sends a fleet's heartbeats, each member in its turn.
type sender struct {
	store   *db.Store
	members []member
	turns   atomic.Int64
}

// send is a turn of the load.
func (s *sender) send(ctx context.Context, c *bench.Caller) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout*time.Millisecond) // as a replica's calls have
	defer cancel()
	turn := int(s.turns.Add(1) - 1)
	at := turn % len(s.members)
	m, load := s.members[at], loadOf(at, turn/len(s.members))
	return c.Timed(heartbeat, func() error {
		_, err := s.store.Heartbeat(ctx, db.InstanceRef{InstanceID: m.InstanceID, Incarnation: &m.Incarnation}, &load)
		if known, ok := errors.AsType[*fault.Error](err); ok { // counted as over HTTP, by its code
			return &bench.Failure{Kind: known.Code, Err: err}
		}
		return err
	})
}

// loadOf is the load of a server that rises and falls within 240 heartbeats, each server at another time.
func loadOf(member, beat int) float64 {
	const period, highest = 240, 0.9
	at := (member*7 + beat) % period
	return highest * float64(min(at, period-at)) / (period / 2)
}

// The tables that heartbeats write to.
const (
	leases = "instance_leases"
	modes  = "instance_modes"
)

// table is the updates of a table so far, and its size with indexes.
type table struct {
	Name                string
	Updates, Hot, Bytes int64
}

// tableSamples are the tables before the first heartbeat, after they have settled, and after the last heartbeat.
type tableSamples [][]table

// sample is a step that adds the tables as they are now.
func (s *tableSamples) sample(b *testbed) step {
	return func(ctx context.Context) error {
		tables, err := rowsOf[table](ctx, b.pool, "fleet_tables.sql")
		*s = append(*s, tables)
		return err
	}
}

// sampleAfter adds the tables as they are after a while.
func (s *tableSamples) sampleAfter(ctx context.Context, b *testbed, d time.Duration) error {
	if err := bench.Pause(ctx, d); err != nil {
		return err
	}
	return s.sample(b)(ctx)
}

// addValues adds, for each table, its sizes and the share of HOT updates, which stay on their page and write no index.
func (s *tableSamples) addValues(values map[string]float64) {
	for i, first := range (*s)[0] {
		settled, last := (*s)[1][i], (*s)[2][i]
		values[first.Name+" hot"] = float64(last.Hot-first.Hot) / float64(last.Updates-first.Updates)
		values[first.Name+" first"], values[first.Name+" settled"] = float64(first.Bytes), float64(settled.Bytes)
		values[first.Name+" last"] = float64(last.Bytes)
	}
}

func fleetClaims(o Options) []claim {
	plan := o.heartbeatPlan()
	hot := func(name string) measure { return median(onStore, valueOf(name+" hot", percent)) }
	growth := func(name string) measure {
		return medianOver(times, func(r round) float64 {
			return r[onStore].Values[name+" last"] / r[onStore].Values[name+" settled"]
		}, onStore)
	}
	stays := fmt.Sprintf("%%s with its index at the end, compared with after %s", plan.settling)
	return []claim{
		{fmt.Sprintf("heartbeats answered of the %s that are due each second for %s", inFull(plan.rate()), plan.duration),
			median(onStore, valueOf("answered", percent)), atLeast(0.999)},
		{"CPUs that Postgres used", median(onStore, coresOf(postgresCPU)), atMost(1)},
		{"HOT updates of " + leases, hot(leases), atLeast(0.99)},
		{fmt.Sprintf(stays, leases), growth(leases), atMost(1.05)},
		{fmt.Sprintf(stays, modes), growth(modes), atMost(1.05)},
	}
}
