// Package openmatch puts a load on the Open Match API of a director and measures its answers, over gRPC as frontends and
// directors call it, with a match function of its own that pairs players. The turns are here; package bench runs the callers
// and measures. [ServeEcho] answers without a director, to measure the costs of the protocol itself.
//
// The package knows only the protocol. Its tickets have a tag of the run, and its pools filter by that tag. The pools of
// another director without filters would match its tickets, too, so a run needs a universe of its own.
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

// The scenarios: what a caller does in each turn.
const (
	tickets    = "tickets"     // a new player is queued
	fetch      = "fetch"       // many tickets wait; all of them are fetched in matches and assigned
	watch      = "watch"       // the same as tickets, while streams of watchers are idle
	query      = "query"       // many tickets wait, and all of them are queried
	ticketLife = "ticket-life" // a new player is queued and waits for an assignment, while a director fetches without a pause
)

// Limits of the load that one process generates.
const (
	MaxConnections = 256
	MaxWatchers    = 100_000
)

// Options of a run. Of those of package bench, Scenario is one of Scenarios of this package, URLs are the addresses
// (host:port) of gRPC listeners, Tickets wait at the start of a turn of fetch and query (0 is 10,000; fetch pairs them: use an
// even number), and options about players' tokens, game servers, regions and modes are ignored.
type Options struct {
	bench.Options

	Token       string // sent as a bearer token; "" sends none
	Connections int    // shared by callers, up to MaxConnections; 0 is 8
	Watchers    int    // streams of watch, up to MaxWatchers; 0 is 5,000
	Leave       bool   // tickets are not deleted: the database is discarded
}

type scenario struct {
	prepare func(*load, context.Context) error
	turn    func(*load, context.Context, bench.Turn) error
	callers int     // usual number
	rate    float64 // usual rate; 0 is a closed loop
}

var scenarios = map[string]scenario{
	tickets:    {turn: (*load).create, callers: 32},
	fetch:      {prepare: (*load).serveFunction, turn: (*load).fetchAll, callers: 1},
	watch:      {prepare: (*load).watchIdly, turn: (*load).create, callers: 32},
	query:      {prepare: (*load).queueForQuery, turn: (*load).queryAll, callers: 1},
	ticketLife: {prepare: (*load).direct, turn: (*load).live, callers: 256, rate: 100},
}

// Scenarios returns the names of all scenarios, sorted.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios)) }

// Usual returns the usual load of a scenario. That of ticket-life is an open loop: in a closed one every ticket would
// arrive just after a cycle began.
func Usual(scenario string) (callers int, rate float64) {
	return scenarios[scenario].callers, scenarios[scenario].rate
}

// Check validates the options as Run does, and sets defaults.
func (o *Options) Check() error {
	o.Connections = cmp.Or(o.Connections, 8)
	o.Tickets, o.Watchers = cmp.Or(o.Tickets, 10_000), cmp.Or(o.Watchers, 5_000)
	switch {
	case scenarios[o.Scenario].turn == nil:
		return fmt.Errorf("there is no scenario %q: there are %s", o.Scenario, strings.Join(Scenarios(), ", "))
	case o.Connections < 1 || o.Connections > MaxConnections:
		return fmt.Errorf("%d connections: there must be 1 to %d", o.Connections, MaxConnections)
	case o.Tickets < 1 || o.Tickets > bench.MaxTickets:
		return fmt.Errorf("%d tickets: there must be 1 to %d", o.Tickets, bench.MaxTickets)
	case o.Watchers < 1 || o.Watchers > MaxWatchers:
		return fmt.Errorf("%d watchers: there must be 1 to %d", o.Watchers, MaxWatchers)
	}
	o.Turn = func(context.Context, bench.Turn) error { return nil } // replaced in Run
	return o.Options.Check()
}

// load is a run in progress.
type load struct {
	Options

	tag     string // tag of all its tickets
	conns   []*connection
	players [][]byte           // openmatch.CreateTicketRequest of each player
	queued  [][]string         // ids of tickets that callers have left in the queue, by caller
	pool    *pb.Pool           // pool of query
	config  *pb.FunctionConfig // address of its match function
	closers []func() error     // closed in reverse order
}

// Run generates the load, and deletes the tickets that it queued. It returns when all calls have been answered. Calls that
// fail are part of the result. Errors: an invalid option, a failed preparation, a meter that cannot be read, idle streams
// that ended, or the end of ctx.
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

// close runs the closers in reverse order.
func (l *load) close() error {
	var errs []error
	for _, end := range slices.Backward(l.closers) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
