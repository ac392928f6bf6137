// Package realtime puts a load on the realtime lobby of a director and measures its answers, over the WebSocket protocol of Nexis. The
// turns are here; package bench runs the callers and measures.
//
// The package knows only the protocol.
package realtime

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
)

// The scenarios: what a caller does in each turn.
const (
	roomsPatch = "rooms-patch" // a member changes the state of a room; until a member on the next replica has the patch
	roomsHot   = "rooms-hot"   // a member changes the state of the one room in which all callers are; until that is durable
	roomsMatch = "rooms-match" // two clients on two replicas enqueue; until both know their match
	roomsJoin  = "rooms-join"  // sessions join one new room at once; until each knows all members
	roomsStorm = "rooms-storm" // all connections end at once and resume at the next replica; until each session has the state of its room
	roomsIdle  = "rooms-idle"  // sessions are connected and idle, and one calls ten times: a call is a second
)

// Echoed is the scenario that ServeEcho answers.
const Echoed = roomsIdle

// MaxSessions bounds the sessions that one process opens beside those of callers.
const MaxSessions = 20_000

// Dialers is how many handshakes clients make at a time.
const Dialers = 64

const (
	project  = "bench"
	roomType = "counter_plugin_room"

	dialTimeout = 2 * time.Minute // until all clients are connected
)

// Options of a run. Of those of package bench, Scenario is one of Scenarios of this package, URLs are the base URLs of listeners of the
// realtime lobby, and options about players, tickets and game servers are ignored, as is WarmUp where all sessions act at once. The director must
// serve its conformance rooms.
type Options struct {
	bench.Options

	Token    string // of a project; "" for a director that asks for none
	Sessions int    // that are connected beside those of callers, up to MaxSessions, spread over URLs
}

type scenario struct {
	clients  int // of a caller
	turn     func(*load, context.Context, bench.Turn) error
	callers  int     // usual number
	rate     float64 // usual, of turns a second; 0: a closed loop
	sessions int     // usual number
	alone    bool    // the sessions act, for one caller
}

var scenarios = map[string]scenario{
	roomsPatch: {clients: 2, turn: (*load).patch, callers: 200, rate: 500},
	roomsHot:   {clients: 1, turn: (*load).change, callers: 32}, // each change is an event for each, and a session may send 100 frames a second
	roomsMatch: {clients: 2, turn: (*load).match, callers: 64, rate: 50},
	roomsJoin:  {turn: (*load).join, callers: 1, sessions: 1000, alone: true},
	roomsStorm: {turn: (*load).storm, callers: 1, sessions: 5000, alone: true},
	roomsIdle:  {clients: 1, turn: (*load).idle, callers: 1, sessions: 10_000},
}

// Scenarios returns the names of all scenarios, sorted.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios)) }

// Usual returns the usual load of a scenario. A rate of 0 is a closed loop.
func Usual(scenario string) (callers int, rate float64, sessions int) {
	s := scenarios[scenario]
	return s.callers, s.rate, s.sessions
}

// Check validates the options as Run does, and sets defaults.
func (o *Options) Check() error {
	s := scenarios[o.Scenario]
	o.Callers = cmp.Or(o.Callers, s.callers)
	switch {
	case s.turn == nil:
		return fmt.Errorf("there is no scenario %q: there are %s", o.Scenario, strings.Join(Scenarios(), ", "))
	case o.Sessions < 0 || o.Sessions > MaxSessions:
		return fmt.Errorf("%d sessions: there must be 0 to %d", o.Sessions, MaxSessions)
	case s.alone && (o.Callers != 1 || o.Sessions == 0 || o.Rate > 0):
		return fmt.Errorf("%s has one caller, which lets all sessions act at once, and no rate", o.Scenario)
	}
	if s.alone {
		o.WarmUp = 0 // a turn takes seconds: it would be the only one
	}
	o.Turn = func(context.Context, bench.Turn) error { return nil } // replaced in Run
	return o.Options.Check()
}

// load is a run in progress.
type load struct {
	Options

	name    string      // part of the names of its rooms and queues
	callers [][]*Client // by caller
	crowd   *Crowd      // of the sessions
	turns   int         // that a caller of a scenario with one caller has taken
	frames  int64       // that clients received in the turns of join
}

// Run generates the load. It returns when all calls have been answered and all clients have disconnected. Calls that fail are part of the
// result. Errors: an invalid option, clients that cannot connect, a meter that cannot be read, or the end of ctx.
func Run(ctx context.Context, o Options) (bench.Result, error) {
	if err := o.Check(); err != nil {
		return bench.Result{}, err
	}
	l := &load{Options: o, name: strings.ToLower(rand.Text()[:10]), crowd: NewCrowd(o.Token, o.Sessions)}
	defer l.disconnect(ctx)
	if err := l.connect(ctx); err != nil {
		return bench.Result{}, err
	}
	turn := scenarios[o.Scenario].turn
	o.Turn = func(ctx context.Context, t bench.Turn) error { return turn(l, ctx, t) }
	result, err := bench.Run(ctx, o.Options)
	result.Sessions = o.Sessions
	if l.turns > 0 {
		result.Frames = float64(l.frames) / float64(l.turns)
	}
	return result, err
}

// connect opens all sessions and lets callers join their rooms.
func (l *load) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	l.callers = make([][]*Client, l.Callers)
	all, dialing := errgroup.WithContext(ctx)
	all.SetLimit(Dialers)
	for n := range l.callers {
		l.callers[n] = make([]*Client, scenarios[l.Scenario].clients)
		for i := range l.callers[n] {
			all.Go(func() (err error) {
				l.callers[n][i], err = l.enter(dialing, l.URLs[(n+i)%len(l.URLs)], l.room(n))
				return err
			})
		}
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if l.Scenario == roomsStorm {
		return l.crowd.Join(ctx, l.URLs)
	}
	return l.crowd.Connect(ctx, l.URLs)
}

// enter connects a client, which joins a room unless that is "".
func (l *load) enter(ctx context.Context, url, room string) (*Client, error) {
	c, _, err := Dial(ctx, url, l.Token, "")
	if err != nil || room == "" {
		return c, err
	}
	return c, c.Join(ctx, roomType, room)
}

// room is the room of a caller, "" for none.
func (l *load) room(caller int) string {
	switch l.Scenario {
	case roomsPatch:
		return fmt.Sprintf("%s:%s-%d", roomType, l.name, caller)
	case roomsHot:
		return roomType + ":" + l.name
	default:
		return ""
	}
}

// disconnect lets callers leave their rooms, so that no later run pays for members who are away, and ends all connections.
func (l *load) disconnect(ctx context.Context) {
	for n, clients := range l.callers {
		for _, c := range clients {
			if c == nil {
				continue
			}
			if room := l.room(n); room != "" {
				_ = c.Leave(ctx, room)
			}
			c.Close()
		}
	}
	l.crowd.Cut()
}
