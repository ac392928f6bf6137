// Package openmatch puts a load on the Open Match API of a director and measures its answers, over gRPC as frontends
// and directors call it, with a match function of its own that pairs players. The turns are here; package bench runs
// the callers and measures. [ServeEcho] answers without a director, to measure the costs of the protocol itself.
//
// The package knows only the protocol. Its tickets have a tag of the run, and its pools filter by that tag. The pools
// of another director without filters would match its tickets, too, so a run needs a universe of its own.
package openmatch

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
)

// The scenarios: what a caller does in each turn.
const (
	tickets = "tickets" // a new player is queued
	fetch   = "fetch"   // many tickets wait; all of them are fetched in matches and assigned
	watch   = "watch"   // the same as tickets, while streams of watchers are idle
	query   = "query"   // many tickets wait, and all of them are queried
	// a new player is queued and waits for an assignment, while a director fetches without a pause
	ticketLife = "ticket-life"
)

// Protocol is the scenarios of this package. URLs are the addresses (host:port) of gRPC listeners, Tickets wait at the
// start of a turn of fetch and query (fetch pairs them: use an even number), and options about players, game servers,
// regions and modes are ignored. The life of a ticket is an open loop: in a closed one every ticket would arrive just
// after a cycle began.
//
// A run deletes the tickets that it queued. Its errors are also a failed preparation, and idle streams that ended.
var Protocol = bench.NewProtocol(map[string]bench.ProtocolScenario[*load]{
	tickets: {Turn: (*load).create, Usual: bench.Load{Callers: 32, Connections: 8}},
	fetch: {Turn: (*load).fetchAll, Prepare: (*load).serveFunction,
		Usual: bench.Load{Callers: 1, Connections: 8, Tickets: 10_000}},
	watch: {Turn: (*load).create, Prepare: (*load).watchIdly,
		Usual: bench.Load{Callers: 32, Connections: 8, Watchers: 5_000}},
	query: {Turn: (*load).queryAll, Prepare: (*load).queueForQuery,
		Usual: bench.Load{Callers: 1, Connections: 8, Tickets: 10_000}},

	ticketLife: {Turn: (*load).live, Prepare: (*load).direct,
		Usual: bench.Load{Callers: 256, Rate: 100, Connections: 8}},
}, nil, newLoad)

// load is a run in progress.
type load struct {
	bench.Options

	tag     string // tag of all its tickets
	conns   []*connection
	players [][]byte           // openmatch.CreateTicketRequest of each player
	queued  [][]string         // ids of tickets that callers have left in the queue, by caller
	pool    *pb.Pool           // pool of query
	config  *pb.FunctionConfig // address of its match function
	closers []func() error     // closed in reverse order
}

func newLoad(o bench.Options) *load {
	return &load{Options: o, tag: "bench-" + strings.ToLower(rand.Text()[:10]), queued: make([][]string, o.Callers)}
}

// Connect makes the connections, spread over the replicas. It also encodes the players.
func (l *load) Connect(context.Context) error {
	if err := l.encodePlayers(); err != nil {
		return err
	}
	for n := range l.Connections {
		conn, err := l.connect(l.URLs[n%len(l.URLs)])
		if err != nil {
			return err
		}
		l.conns = append(l.conns, conn)
	}
	return nil
}

// Finish deletes the tickets and closes everything, in reverse order.
func (l *load) Finish(ctx context.Context, _ *bench.Result) error {
	if !l.Leave {
		l.takeBack(ctx, slices.Concat(l.queued...))
	}
	var errs []error
	for _, end := range slices.Backward(l.closers) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

func (l *load) onClose(end func() error) { l.closers = append(l.closers, end) }
