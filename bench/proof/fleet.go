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
// and the same groups. What one replica takes over HTTP on this machine is measured by reach.
var fleet = Experiment{
	Name: "fleet", Title: "A large fleet", Takes: "3 min", isOnce: true, arms: fleetArms,
	About: "Whether 100,000 game servers can send heartbeats every five seconds, and how the database copes; one round",
	claims: []claim{
		{"heartbeats answered of the 20,000 that are due each second for 2m0s", medianValue(onStore, "answered", percent),
			atLeast(0.999)},
		{"CPUs that Postgres used", median(onStore, coresOf(postgresCPU)), atMost(1)},
		{"HOT updates of instance_leases", medianValue(onStore, "instance_leases hot", percent), atLeast(0.99)},
		{"instance_leases with its index at the end, compared with after 30s",
			medianValue(onStore, "instance_leases growth", times), atMost(1.05)},
		{"instance_modes with its index at the end, compared with after 30s",
			medianValue(onStore, "instance_modes growth", times), atMost(1.05)},
	},
}

const onStore = "heartbeat on the store"

// fleetArms send the heartbeats of a fleet to a store. The sizes of the tables are read before the first heartbeat,
// after they have settled, and after the last one.
func fleetArms(ctx context.Context, b *testbed) ([]arm, error) {
	const interval = 5 * time.Second // of each game server's heartbeats
	members := choose(b.options, 100_000, 1_000)
	rate := float64(members) / interval.Seconds()
	store, err := db.Open(ctx, db.Config{URL: b.lab.URL()})
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, func() error { store.Close(); return nil })
	a := b.director(lab.Web).arm(onStore, bench.Options{
		Scenario: bench.Scenario{Name: onStore, Begin: bench.Turns((&sender{store: store, members: members}).send)},
		Load:     bench.Load{Callers: bench.MaxInFlight, Rate: rate}, Duration: 2 * time.Minute,
	})
	sample := b.script("fleet_sample.sql")
	a.preparation = []step{b.script("fleet_instances.sql", "fleet", members, incarnation.String()), sample}
	a.beside = func(ctx context.Context) error {
		if err := bench.Pause(ctx, choose(b.options, 30*time.Second, time.Second)); err != nil {
			return err
		}
		return sample(ctx)
	}
	a.complete = func(ctx context.Context, r *bench.Result) error {
		r.Values["answered"] = float64(r.Calls-r.Failed) / (rate * a.load.Duration.Seconds())
		return errors.Join(sample(ctx), b.addValues("fleet_tables.sql")(ctx, r))
	}
	return []arm{a}, nil
}

// incarnation is that of each game server of the fleet.
var incarnation = uuid.MustParse("f1ee7000-0000-4000-8000-000000000000")

// sender sends a fleet's heartbeats, each member in its turn.
type sender struct {
	store   *db.Store
	members int
	turns   atomic.Int64
}

// send is a turn of the load.
func (s *sender) send(ctx context.Context, c *bench.Caller) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout*time.Millisecond) // as a replica's calls have
	defer cancel()
	turn := int(s.turns.Add(1) - 1)
	member := turn % s.members
	instance, load := fmt.Sprint("fleet-", member), loadOf(member, turn/s.members)
	return c.Timed(heartbeat, func() error {
		_, err := s.store.Heartbeat(ctx, db.InstanceRef{InstanceID: instance, Incarnation: &incarnation}, &load)
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
