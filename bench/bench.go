// Package bench puts a load on a director and measures how it answers, over HTTP as game servers and players call it.
//
// The load is a closed loop or an open one. In a closed loop each caller waits for an answer before its next call: a
// slow director gets fewer calls, and latencies belong to the throughput that was reached. In an open loop calls are
// due at a fixed rate, and their latency counts from when they were due: a stall shows in the latencies of all calls
// that were due during it.
//
// A run registers its own game servers in its own regions, so that no real player is ever sent to them. The package
// knows the director's HTTP API only; its caller starts a director (package lab) and issues access tokens.
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

// Limits of the load that one process generates.
const (
	MaxCallers   = 2048    // each holds a connection
	MaxInFlight  = 16_384  // callers of an open loop: more than a director admits, to measure its refusals
	MaxInstances = 200_000 // each is a few hundred bytes here
	MaxRegions   = 1000
	MaxModes     = 32      // of a game server, by the API
	MaxCapacity  = 100_000 // of a game server, by the API
	MaxPlayers   = 1024    // of a session, by the API
	MaxTickets   = 1_000_000

	MaxConnections = 256 // of gRPC
	MaxWatchers    = 100_000
	MaxAgents      = 20_000
	MaxRooms       = 100 // of an agent
	MaxSessions    = 20_000
)

// Options of a run. FleetToken, and all fields from Rate on except Duration, have usable zero values.
type Options struct {
	Scenario    string   // one of Scenarios, or the name of Turn
	URLs        []string // base URLs of replicas; callers are spread over them
	FleetToken  string   // sent as X-Fleet-Token; "" sends none
	OpsToken    string   // an operator's, sent where scenarios apply profiles; "" sends none
	AccessToken MintFunc
	Callers     int // concurrent callers, 1 to MaxCallers; in an open loop the most calls in flight, up to MaxInFlight
	// game servers to register, 1 to MaxInstances; raised to one a region, and for heartbeat to one a caller
	Instances int

	// Rate makes the load an open loop of that many turns a second: turn i is due at the start + i/Rate. 0 is a closed
	// loop.
	Rate    float64
	Regions int // of players and game servers, up to MaxRegions; 0 is 1
	Modes   int // of players and of each game server, up to MaxModes; 0 is 1
	// share of the calls for the first of several modes; the other modes share the rest equally. 0: all modes are equal
	HotShare float64
	// seats of each game server, up to MaxCapacity; 0 is MaxCapacity: game servers do not become full
	Capacity int
	// most players of a session, up to MaxPlayers; 0 is the mode's default. Ignored by resolve, which seats parties
	Players int
	// queued before each turn, in scenarios that queue tickets, up to MaxTickets; 0: the scenario's default
	Tickets int
	// of a closed loop, the warm-up included, without pauses after failures; 0: as many as Duration permits
	Turns int
	// part of the names of its regions (bench-<Run>-0): up to 20 lower-case letters and digits. "" is random
	Run      string
	WarmUp   time.Duration // of load before the measurement
	Duration time.Duration // of the measurement: how long new calls begin
	Meter    Meter         // nil: costs are not measured
	// Background is how long the meter is read before the load, while nothing is called. What is used then is taken off
	// the costs. 0: not measured.
	Background time.Duration
	Turn       TurnFunc // what callers do instead of one of Scenarios; the run has no game servers then
	Progress   func(Progress)
	Measuring  func() // is called when the measurement begins, after the warm-up; nil: nothing

	// Protocol is whose scenario it is; nil: one of Scenarios of this package. The options below are those of
	// protocols.
	Protocol           *Protocol
	Token              string // sent by callers, of Open Match or of a project; "" sends none
	AgentKey, AdminKey string // of the orchestrator of Rivalis
	// of gRPC that callers share, up to MaxConnections; 0: the scenario's usual number, as of the next two
	Connections int
	Watchers    int  // streams that are idle, up to MaxWatchers
	Agents      int  // simulated Rivalis game servers, up to MaxAgents, spread over URLs
	Rooms       int  // that each agent has made itself, up to MaxRooms
	Sessions    int  // of the realtime lobby beside those of callers, up to MaxSessions, spread over URLs
	Leave       bool // tickets are not deleted: the database is discarded
}

// MintFunc makes a player's access token. It is called concurrently, and for most players before the load starts.
// Players have the same names in every run, so that a caller can keep their tokens between runs.
type MintFunc func(sub string) (string, error)

// Progress is the progress of a run. Options.Progress is called a few times a second, never concurrently.
type Progress struct {
	Phase          string        // for people
	Elapsed, Total time.Duration // of the load, the warm-up included; 0 before the load
	Calls, Failed  int64         // measured so far
}

// Check validates the options as Run does, and sets defaults.
func (o *Options) Check() error {
	if o.Protocol == nil {
		o.Connections, o.Watchers, o.Agents, o.Rooms, o.Sessions = 0, 0, 0, 0, 0
	} else if err := o.Protocol.checkOptions(o); err != nil {
		return err
	}
	switch {
	case o.scenario().turn == nil:
		return fmt.Errorf("there is no scenario %q: there are %s", o.Scenario, strings.Join(Scenarios(), ", "))
	case len(o.URLs) == 0:
		return errors.New("there is no URL to call")
	case o.Callers < 1 || o.Callers > o.maxCallers():
		return fmt.Errorf("%d callers: there must be 1 to %d", o.Callers, o.maxCallers())
	case !o.scenario().fleetless && o.Instances < 1 || o.Instances > MaxInstances:
		return fmt.Errorf("%d instances: there must be 1 to %d", o.Instances, MaxInstances)
	case o.Duration <= 0 || o.WarmUp < 0 || o.Background < 0:
		return errors.New("a run must last, and its warm-up and background may not be negative")
	}
	return o.checkLoad()
}

func (o *Options) maxCallers() int {
	if o.Rate > 0 {
		return MaxInFlight
	}
	return MaxCallers
}

// checkLoad validates the shape of the load, and sets defaults.
func (o *Options) checkLoad() error {
	o.Regions, o.Modes = max(o.Regions, 1), max(o.Modes, 1)
	o.Tickets = cmp.Or(o.Tickets, o.scenario().usual.Tickets)
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
	if err := o.checkTickets(); err != nil {
		return err
	}
	return o.checkSizes()
}

// runNames are short enough for the name of a region.
var runNames = regexp.MustCompile(`^[a-z0-9]{0,20}$`)

// checkSizes validates capacities, the number of turns and the name of the run, and sets defaults.
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

// run is a run in progress.
type run struct {
	Options

	scenario scenario
	id       string // part of the names of its game servers and regions
	client   *Client
	fleet    *fleet
	players  *players
	places   places
	record   *record
	callers  []*caller
	phase    atomic.Pointer[string]
	period   atomic.Pointer[period] // nil before the load
	schedule *schedule              // nil in a closed loop
	turns    atomic.Int64           // that began, when Turns limits them
	matches  matches
	crowds   atomic.Int64 // of match-queue and match-servers
}

// period is the time of the measurement.
type period struct {
	from  time.Time // turns that begin from here on are measured
	until time.Time // no turn begins from here on
}

// Run registers game servers, generates the load, and deregisters them. It returns when all calls have been answered.
// Calls that fail are part of the result. Errors: an invalid option, a fleet that cannot be registered, a meter that
// cannot be read, or the end of ctx, which ends all calls at once.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Check(); err != nil {
		return Result{}, err
	}
	if o.Protocol != nil {
		return o.Protocol.run(ctx, o)
	}
	return generate(ctx, o)
}

// generate generates the load of valid options.
func generate(ctx context.Context, o Options) (Result, error) {
	o.Instances = max(o.Instances, o.Regions)
	if o.Scenario == heartbeat {
		o.Instances = max(o.Instances, o.Callers) // two callers never send a heartbeat of the same game server at once
	}
	r := newRun(ctx, o)
	defer r.client.Close()
	background, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer stop()
	helpers.Go(func() { r.reportProgress(background) })
	defer r.fleet.deregister(ctx)
	defer r.matches.retire(ctx)
	if err := r.prepare(ctx); err != nil {
		return Result{}, err
	}
	helpers.Go(func() { r.fleet.keepAlive(background) })
	if err := r.prepareMatches(ctx); err != nil {
		return Result{}, err
	}
	return r.measure(ctx)
}

func newRun(ctx context.Context, o Options) *run {
	id := cmp.Or(o.Run, strings.ToLower(rand.Text()[:10]))
	r := &run{
		Options: o, scenario: o.scenario(), id: id, record: newRecord(), players: newPlayers(o.AccessToken),
		client: NewClient(ctx, o.FleetToken, 2*o.Callers+2*maxConcurrent),
	}
	r.enter("preparing")
	r.places = newPlaces(id, o)
	r.fleet = newFleet(r.client, o.URLs, r.places, o.Capacity)
	r.matches.run = r
	for n := range o.Callers {
		r.callers = append(r.callers, r.caller(n))
	}
	return r
}

func (r *run) enter(phase string) { r.phase.Store(&phase) }

const progressInterval = 200 * time.Millisecond

func (r *run) reportProgress(ctx context.Context) {
	if r.Progress == nil {
		return
	}
	for ticks := time.NewTicker(progressInterval); ; {
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
