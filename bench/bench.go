// Package bench puts a load on a director and measures how it answers, over HTTP as game servers and players call it.
//
// The load is a closed loop or an open one. In a closed loop each caller waits for an answer before it asks again: a slow
// director is asked less, and the latencies are those at the throughput beside them. In an open loop calls are due at a
// rate, whatever the answers, and their latency counts from when they were due: a stall is seen in all the calls that it
// kept waiting.
//
// It brings game servers of its own, in regions of its own, so that no player of others is ever sent to them. It knows
// the wire and nothing else of the director: starting one (package lab) and issuing access tokens is the caller's.
package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the load that one process puts on.
const (
	MaxCallers   = 2048    // each holds a connection
	MaxInFlight  = 16_384  // the same of an open loop: more than a director lets in, to see it refuse
	MaxInstances = 200_000 // each is a few hundred bytes here
	MaxRegions   = 1000
	MaxModes     = 32      // that the API lets a game server offer
	MaxCapacity  = 100_000 // that the API lets a game server have
	MaxPlayers   = 1024    // that the API lets a session have
)

// Options of a run. The zero values of FleetToken and all from Rate on but Duration are usable.
type Options struct {
	Scenario    string   // one of Scenarios, unless there is a Turn
	URLs        []string // base URLs of replicas; callers take them in turn
	FleetToken  string   // shown as X-Fleet-Token; "" where the fleet is open
	AccessToken MintFunc
	Callers     int // that ask at a time, 1 to MaxCallers; in an open loop at most so many calls are in flight, up to MaxInFlight
	Instances   int // game servers to register, 1 to MaxInstances; one for each region at least, for heartbeat one for each caller too

	// Rate makes it an open loop of so many turns a second: turn i is due at the start + i/Rate. 0 is a closed loop.
	Rate     float64
	Regions  int           // that players and game servers are spread over, up to MaxRegions; 0 is 1
	Modes    int           // that players ask for and each game server offers, up to MaxModes; 0 is 1
	HotShare float64       // of the calls, for the first of several modes; the others share the rest. 0: all alike
	Capacity int           // seats of each game server, up to MaxCapacity; 0 is that: placement is measured, not a full house
	Players  int           // that a session has room for, up to MaxPlayers; 0 is what the mode has. Not of resolve, which seats parties
	Turns    int           // of a closed loop, the warm-up included, taken as fast as they are answered; 0: as many as there is time for
	Run      string        // in the names of its regions, bench-<Run>-0 and so on: up to 20 lower-case letters and digits. "" is a random one
	WarmUp   time.Duration // load that is not measured, before what is
	Duration time.Duration // how long new calls are made and measured
	Meter    Meter         // nil: costs are not measured
	Turn     TurnFunc      // what callers do instead of one of Scenarios: Scenario is just its name then, and there are no game servers
	Progress func(Progress)
}

// MintFunc makes a player's access token. It is called by many at once, and ahead of the calls as far as it is known how
// many will come. Players have the same names in every run: who remembers their tokens makes them once.
type MintFunc func(sub string) (string, error)

// Progress is how far a run is. Options.Progress is told a few times a second, never by two at once.
type Progress struct {
	Phase          string        // what is being done, for people
	Elapsed, Total time.Duration // of the load, the warm-up included; before it 0 and 0
	Calls, Failed  int64         // measured so far
}

// Check judges the options as Run does, and sets what has a default.
func (o *Options) Check() error {
	switch {
	case o.scenario().turn == nil:
		return fmt.Errorf("there is no scenario %q: there are %s", o.Scenario, strings.Join(Scenarios(), ", "))
	case len(o.URLs) == 0:
		return errors.New("there is no URL to call")
	case o.Callers < 1 || o.Callers > o.mostCallers():
		return fmt.Errorf("%d callers: there must be 1 to %d", o.Callers, o.mostCallers())
	case o.Turn == nil && o.Instances < 1 || o.Instances > MaxInstances:
		return fmt.Errorf("%d instances: there must be 1 to %d", o.Instances, MaxInstances)
	case o.Duration <= 0 || o.WarmUp < 0:
		return errors.New("a run must last, and a warm-up may not be negative")
	}
	return o.checkLoad()
}

func (o *Options) mostCallers() int {
	if o.Rate > 0 {
		return MaxInFlight
	}
	return MaxCallers
}

// checkLoad judges what has a usable zero value, and sets it.
func (o *Options) checkLoad() error {
	o.Regions, o.Modes = max(o.Regions, 1), max(o.Modes, 1)
	switch {
	case !(o.Rate >= 0 && o.Rate <= 1_000_000): // nor NaN
		return fmt.Errorf("a rate of %g: there must be up to 1,000,000 a second", o.Rate)
	case o.Regions > MaxRegions:
		return fmt.Errorf("%d regions: there must be 1 to %d", o.Regions, MaxRegions)
	case o.Modes > MaxModes:
		return fmt.Errorf("%d modes: there must be 1 to %d", o.Modes, MaxModes)
	case !(o.HotShare >= 0 && o.HotShare <= 1):
		return fmt.Errorf("a hot share of %g: it must be 0 to 1", o.HotShare)
	case o.HotShare > 0 && o.Modes == 1:
		return errors.New("a hot mode needs others beside it: ask for several modes")
	}
	return o.checkSizes()
}

// runNames leave room in the name of a region.
var runNames = regexp.MustCompile(`^[a-z0-9]{0,20}$`)

// checkSizes judges what is to be full at some time, and sets it; and what a run may be called.
func (o *Options) checkSizes() error {
	if o.Capacity == 0 {
		o.Capacity = MaxCapacity
	}
	switch {
	case o.Capacity < 1 || o.Capacity > MaxCapacity:
		return fmt.Errorf("a capacity of %d: there must be 1 to %d", o.Capacity, MaxCapacity)
	case o.Players < 0 || o.Players > MaxPlayers:
		return fmt.Errorf("sessions of %d players: there must be up to %d", o.Players, MaxPlayers)
	case o.Turns < 0 || o.Turns > 0 && o.Rate > 0:
		return errors.New("turns may not be negative, and at a rate they are as many as are due")
	case !runNames.MatchString(o.Run):
		return fmt.Errorf("a run named %q: a name is up to 20 lower-case letters and digits", o.Run)
	}
	return nil
}

// run is a run under way.
type run struct {
	Options

	scenario scenario
	id       string // tells its game servers and regions from those of every other run
	client   *client
	fleet    *fleet
	players  *players
	places   places
	record   *record
	callers  []*caller
	phase    atomic.Pointer[string]
	period   atomic.Pointer[period] // nil before the load
	schedule *schedule              // nil in a closed loop
	turns    atomic.Int64           // that began, where they are counted
}

// period is when things count.
type period struct {
	from  time.Time // what begins from here on is measured
	until time.Time // nothing begins from here on
}

// Run registers game servers, puts the load on, and deregisters them. It returns when all calls have been answered. Calls
// that fail are figures; an error is an impossible option, a fleet that cannot be registered, a meter that cannot be
// read, or the end of ctx, at which everything stops at once.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Check(); err != nil {
		return Result{}, err
	}
	o.Instances = max(o.Instances, o.Regions)
	if o.Scenario == heartbeat {
		o.Instances = max(o.Instances, o.Callers) // two never beat for one game server
	}
	r := newRun(ctx, o)
	defer r.client.close()
	beside, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer stop()
	helpers.Go(func() { r.tell(beside) })
	defer r.fleet.deregister(ctx)
	if err := r.prepare(ctx); err != nil {
		return Result{}, err
	}
	helpers.Go(func() { r.fleet.keepAlive(beside) })
	return r.measure(ctx)
}

func newRun(ctx context.Context, o Options) *run {
	id := cmp.Or(o.Run, strings.ToLower(rand.Text()[:10]))
	r := &run{
		Options: o, scenario: o.scenario(), id: id, record: newRecord(), players: newPlayers(o.AccessToken),
		client: newClient(ctx, o.FleetToken, o.Callers+2*atOnce),
	}
	r.enter("getting ready")
	r.places = newPlaces(id, o)
	r.fleet = newFleet(r.client, o.URLs, r.places, o.Capacity)
	for n := range o.Callers {
		r.callers = append(r.callers, r.caller(n))
	}
	return r
}

func (r *run) enter(phase string) { r.phase.Store(&phase) }

const progressEvery = 200 * time.Millisecond

func (r *run) tell(ctx context.Context) {
	if r.Progress == nil {
		return
	}
	for ticks := time.NewTicker(progressEvery); ; {
		select {
		case <-ctx.Done():
			ticks.Stop()
			return
		case <-ticks.C:
			r.Progress(r.progress())
		}
	}
}

func (r *run) progress() Progress {
	p := Progress{Phase: *r.phase.Load()}
	if at := r.period.Load(); at != nil {
		p.Total = r.WarmUp + r.Duration
		p.Elapsed = min(p.Total, p.Total-time.Until(at.until))
		p.Calls, p.Failed = r.record.whole.counts()
	}
	return p
}
