// Package openmatch puts a load on the Open Match API of a director and measures how it answers, over gRPC as frontends and
// directors call it, with a match function of its own that pairs players. The turns are here; package bench makes callers
// take them, and measures. [ServeEcho] answers without a director behind it, so that what the protocol costs can be told
// apart.
//
// It knows the protocol and nothing else of the director. Its tickets have a tag of the run, and its pools ask for that
// tag; but a director of somebody else whose pools ask for nothing is given them, too, so it should have a universe to
// itself.
package openmatch

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
)

// The scenarios: what a caller does over and over.
const (
	tickets    = "tickets"     // another player each time is queued
	fetch      = "fetch"       // many tickets wait; then all of them are fetched in matches, and assigned
	watch      = "watch"       // as tickets, while others watch idle streams
	query      = "query"       // many tickets wait, and all of them are asked for
	ticketLife = "ticket-life" // another player each time is queued, and waits for an assignment, while a director fetches without a pause
)

// Limits of the load that one process puts on.
const (
	MaxConnections = 256
	MaxTickets     = 1_000_000
	MaxWatchers    = 100_000
)

// Options of a run. In those of package bench, Scenario is one of Scenarios here, URLs are the addresses (host:port) of
// gRPC listeners, and what is about players' tokens, game servers, regions and modes says nothing.
type Options struct {
	bench.Options

	Token       string // sent as a bearer token; "" where everybody is let in
	Connections int    // that callers share, up to MaxConnections; 0 is 8
	Tickets     int    // that wait at the start of a turn of fetch and query, up to MaxTickets; 0 is 10,000. fetch pairs them: let it be even
	Watchers    int    // of watch, up to MaxWatchers; 0 is 5,000
	Leave       bool   // tickets are left behind: the database is thrown away
}

type scenario struct {
	prepare func(*load, context.Context) error
	turn    func(*load, context.Context, bench.Turn) error
	callers int     // that are usual
	rate    float64 // the same
}

var scenarios = map[string]scenario{
	tickets:    {turn: (*load).create, callers: 32},
	fetch:      {prepare: (*load).serveFunction, turn: (*load).fetchAll, callers: 1},
	watch:      {prepare: (*load).watchIdly, turn: (*load).create, callers: 32},
	query:      {prepare: (*load).queueForQuery, turn: (*load).queryAll, callers: 1},
	ticketLife: {prepare: (*load).direct, turn: (*load).live, callers: 256, rate: 100},
}

// Scenarios are the names of all there are, sorted.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios)) }

// Usual is how one of the scenarios is loaded where nobody says otherwise. A closed loop would tell nothing about the life
// of tickets: the next would always come just after a cycle began.
func Usual(scenario string) (callers int, rate float64) {
	return scenarios[scenario].callers, scenarios[scenario].rate
}

// Check judges the options as Run does, and sets what has a default.
func (o *Options) Check() error {
	o.Connections = cmp.Or(o.Connections, 8)
	o.Tickets, o.Watchers = cmp.Or(o.Tickets, 10_000), cmp.Or(o.Watchers, 5_000)
	switch {
	case scenarios[o.Scenario].turn == nil:
		return fmt.Errorf("there is no scenario %q: there are %s", o.Scenario, strings.Join(Scenarios(), ", "))
	case o.Connections < 1 || o.Connections > MaxConnections:
		return fmt.Errorf("%d connections: there must be 1 to %d", o.Connections, MaxConnections)
	case o.Tickets < 1 || o.Tickets > MaxTickets:
		return fmt.Errorf("%d tickets: there must be 1 to %d", o.Tickets, MaxTickets)
	case o.Watchers < 1 || o.Watchers > MaxWatchers:
		return fmt.Errorf("%d watchers: there must be 1 to %d", o.Watchers, MaxWatchers)
	}
	o.Turn = func(context.Context, bench.Turn) error { return nil } // Run has the real one
	return o.Options.Check()
}

// load is a run under way.
type load struct {
	Options

	tag     string // of all its tickets
	conns   []*connection
	players [][]byte           // openmatch.CreateTicketRequest of each
	queued  [][]string         // ids that callers have left waiting, by caller
	pool    *pb.Pool           // of query
	config  *pb.FunctionConfig // where its match function listens
	closers []func() error     // what to end, the latest first
}

// Run puts the load on, and takes back what it queued. It returns when all calls have been answered. Calls that fail are
// figures; an error is an impossible option, what cannot be prepared, a meter that cannot be read, streams of idle watchers
// that did not hold, or the end of ctx.
func Run(ctx context.Context, o Options) (result bench.Result, err error) {
	if err := o.Check(); err != nil {
		return bench.Result{}, err
	}
	o.Run = cmp.Or(o.Run, strings.ToLower(rand.Text()[:10]))
	l := &load{Options: o, tag: "bench-" + o.Run, queued: make([][]string, o.Callers)}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := errors.Join(l.encodePlayers(), l.dial()); err != nil {
		return bench.Result{}, err
	}
	if !o.Leave {
		defer func() { l.takeBack(ctx, slices.Concat(l.queued...)) }()
	}
	if prepare := scenarios[o.Scenario].prepare; prepare != nil {
		if err := prepare(l, ctx); err != nil {
			return bench.Result{}, err
		}
	}
	return l.measure(ctx)
}

func (l *load) measure(ctx context.Context) (bench.Result, error) {
	o, turn := l.Options.Options, scenarios[l.Scenario].turn
	o.Turn = func(ctx context.Context, t bench.Turn) error { return turn(l, ctx, t) }
	result, err := bench.Run(ctx, o)
	result.Connections = l.Connections
	switch l.Scenario {
	case fetch, query:
		result.Tickets = l.Tickets
	case watch:
		result.Watchers = l.Watchers
	}
	return result, err
}

func (l *load) onClose(end func() error) { l.closers = append(l.closers, end) }

// close ends what was begun, the latest first.
func (l *load) close() error {
	var errs []error
	for _, end := range slices.Backward(l.closers) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
