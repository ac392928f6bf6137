// Package realtime puts a load on the realtime lobby of a director and measures its answers, over the WebSocket
// protocol of Nexis. The turns are here; package bench runs the callers and measures.
//
// The package knows only the protocol.
package realtime

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
)

// The scenarios: what a caller does in each turn.
const (
	roomsPatch = "rooms-patch" // a member changes the state of a room; until a member on the next replica has the patch
	// a member changes the state of the one room in which all callers are; until that is durable
	roomsHot   = "rooms-hot"
	roomsMatch = "rooms-match" // two clients on two replicas enqueue; until both know their match
	roomsJoin  = "rooms-join"  // sessions join one new room at once; until each knows all members
	// all connections end at once and resume at the next replica; until each session has the state of its room
	roomsStorm = "rooms-storm"
	roomsIdle  = "rooms-idle" // sessions are connected and idle, and one calls ten times: a call is a second
)

// Echoed is the scenario that ServeEcho answers.
const Echoed = roomsIdle

// Dialers is how many handshakes clients make at a time.
const Dialers = 64

const (
	project  = "bench"
	roomType = "counter_plugin_room"

	dialTimeout = 2 * time.Minute // until all clients are connected
)

// Protocol is the scenarios of this package. URLs are the base URLs of listeners of the realtime lobby, Token is that
// of a project, and options about players, tickets and game servers are ignored, as is WarmUp where all sessions act at
// once. The director must serve its conformance rooms.
var Protocol = bench.NewProtocol(map[string]bench.ProtocolScenario[*load]{
	roomsPatch: {Turn: (*load).patch, Usual: bench.Load{Callers: 200, Rate: 500}},
	// each change is an event for each, and a session may send 100 frames a second
	roomsHot:   {Turn: (*load).change, Usual: bench.Load{Callers: 32}},
	roomsMatch: {Turn: (*load).match, Usual: bench.Load{Callers: 64, Rate: 50}},
	roomsJoin:  {Turn: (*load).join, Usual: bench.Load{Callers: 1, Sessions: 1000, Alone: true}},
	roomsStorm: {Turn: (*load).storm, Usual: bench.Load{Callers: 1, Sessions: 5000, Alone: true}},
	roomsIdle:  {Turn: (*load).idle, Usual: bench.Load{Callers: 1, Sessions: 10_000}},
}, check, newLoad)

// clients are how many a caller has.
var clients = map[string]int{roomsPatch: 2, roomsMatch: 2, roomsHot: 1, roomsIdle: 1}

func check(o *bench.Options) error {
	if clients[o.Scenario] > 0 {
		return nil
	}
	o.WarmUp = 0 // a turn takes seconds: it would be the only one
	if o.Sessions == 0 {
		return fmt.Errorf("%s has one caller, which lets all sessions act at once: there must be some", o.Scenario)
	}
	return nil
}

// load is a run in progress.
type load struct {
	bench.Options

	name    string      // part of the names of its rooms and queues
	callers [][]*Client // by caller
	crowd   *Crowd      // of the sessions
	turns   int         // that a caller of a scenario with one caller has taken
	frames  int64       // that clients received in the turns of join
}

func newLoad(o bench.Options) *load {
	return &load{Options: o, name: strings.ToLower(rand.Text()[:10]), crowd: NewCrowd(o.Token, o.Sessions)}
}

// Connect opens all sessions and lets callers join their rooms.
func (l *load) Connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	l.callers = make([][]*Client, l.Callers)
	all, dialing := errgroup.WithContext(ctx)
	all.SetLimit(Dialers)
	for n := range l.callers {
		l.callers[n] = make([]*Client, clients[l.Scenario])
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
	if l.Scenario == roomsMatch {
		return dialForMatches(ctx, url, l.Token)
	}
	c, err := Dial(ctx, url, l.Token, "")
	if err != nil || room == "" {
		return c, err
	}
	return c, c.enter(ctx, roomType, room)
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

// Finish lets callers leave their rooms, so that no later run pays for members who are away, and ends all connections.
func (l *load) Finish(ctx context.Context, result *bench.Result) error {
	for n, own := range l.callers {
		for _, c := range own {
			if c == nil {
				continue
			}
			if room := l.room(n); room != "" {
				_ = c.leave(ctx, room)
			}
			c.Close()
		}
	}
	l.crowd.Cut()
	if l.turns > 0 {
		result.Values = map[string]float64{"frames": float64(l.frames) / float64(l.turns)}
	}
	return nil
}
