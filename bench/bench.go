// Package bench puts a load on a director and measures how it answers, over HTTP as game servers and players call it.
//
// The load is a closed loop: each caller waits for an answer before it asks again. So a slow director is asked less, and
// the latencies are those at the throughput beside them, not at a rate that was chosen.
//
// It brings game servers of its own, in a region of its own, so that no player of others is ever sent to them. It knows
// the wire and nothing else of the director: starting one, and issuing access tokens, is the caller's.
package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// MaxCallers bounds the load that one process puts on: each caller holds a connection.
const MaxCallers = 2048

// Options of a run. All are required but WarmUp, FleetToken and Progress.
type Options struct {
	Scenario    string                           // one of Scenarios
	URLs        []string                         // base URLs of replicas; callers take them in turn
	FleetToken  string                           // shown as X-Fleet-Token; "" where the fleet is open
	AccessToken func(sub string) (string, error) // makes a player's access token; called by many at once
	Callers     int                              // that ask at a time, 1 to MaxCallers
	Instances   int                              // game servers to register, 1 to MaxCallers; heartbeat has one for each caller at least
	WarmUp      time.Duration                    // load that is not measured, before what is
	Duration    time.Duration                    // how long new calls are made and measured
	Progress    func(Progress)                   // told a few times a second, never by two at once
}

// Progress is how far a run is.
type Progress struct {
	Elapsed, Total time.Duration // the warm-up included
	Calls, Failed  int64         // measured so far
}

func (o *Options) check() error {
	switch {
	case scenarios[o.Scenario] == nil:
		return fmt.Errorf("there is no scenario %q: there are %s", o.Scenario, strings.Join(Scenarios(), ", "))
	case len(o.URLs) == 0:
		return errors.New("there is no URL to call")
	case o.Callers < 1 || o.Callers > MaxCallers:
		return fmt.Errorf("%d callers: there must be 1 to %d", o.Callers, MaxCallers)
	case o.Instances < 1 || o.Instances > MaxCallers:
		return fmt.Errorf("%d instances: there must be 1 to %d", o.Instances, MaxCallers)
	case o.Duration <= 0 || o.WarmUp < 0:
		return errors.New("a run must last, and a warm-up may not be negative")
	}
	return nil
}

// run is a run under way.
type run struct {
	Options

	id     string // tells its game servers and players from those of every other run
	client *client
	fleet  *fleet
	record *record
	from   time.Time // what begins from here on is measured
	until  time.Time // nothing begins from here on
}

// Run registers game servers, puts the load on, and deregisters them. It returns when all calls have been answered. Calls
// that fail are figures; an error is an impossible option, a fleet that cannot be registered, or the end of ctx, at
// which everything stops at once.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	if o.Scenario == heartbeat {
		o.Instances = max(o.Instances, o.Callers) // two never beat for one game server
	}
	id := strings.ToLower(rand.Text()[:10])
	r := &run{Options: o, id: id, client: newClient(o.FleetToken, o.Callers+o.Instances), record: newRecord()}
	defer r.client.close()
	r.fleet = newFleet(r.client, o.URLs, id)
	defer r.fleet.deregister(ctx)
	if err := r.fleet.register(ctx, o.Instances); err != nil {
		return Result{}, err
	}
	return r.measure(ctx)
}

func (r *run) measure(ctx context.Context) (Result, error) {
	beside, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer stop()
	r.from = time.Now().Add(r.WarmUp)
	r.until = r.from.Add(r.Duration)
	helpers.Go(func() { r.fleet.keepAlive(beside) })
	helpers.Go(func() { r.tell(beside) })

	var callers sync.WaitGroup
	for n := range r.Callers {
		callers.Go(func() { r.caller(n).loop(ctx) })
	}
	callers.Wait()
	return r.result(time.Since(r.from)), ctx.Err()
}

const progressEvery = 200 * time.Millisecond

func (r *run) tell(ctx context.Context) {
	if r.Progress == nil {
		return
	}
	total := r.WarmUp + r.Duration
	for ticks := time.NewTicker(progressEvery); ; {
		select {
		case <-ctx.Done():
			ticks.Stop()
			return
		case <-ticks.C:
			calls, failed := r.record.whole.counts()
			r.Progress(Progress{min(total, total-time.Until(r.until)), total, calls, failed})
		}
	}
}
