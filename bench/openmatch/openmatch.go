// Package openmatch puts a load on the Open Match API of a director and measures its answers, over gRPC as Open
// Match's frontends and directors call it, with a match function of its own that pairs players. [ServeEcho] answers without a director, to
// measure the costs of the protocol itself.
//
// The package knows only the protocol. Its tickets have a tag and the mode of the run, and its pools filter by them.
// Pools of other callers of FetchMatches that have no filters would match its tickets, too, so a run needs a universe of
// its own.
package openmatch

import (
	"context"

	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/bench"
)

// Scenarios of this package. [bench.Options.URLs] are host:port of gRPC listeners. [bench.Load.Tickets] is how many
// tickets wait at the start of a turn of fetch and query; fetch pairs them, so the number should be even. The life of a
// ticket is an open loop: in a closed one every ticket would arrive just after a cycle began.
//
// A run deletes those of its tickets that still wait. It also fails if its preparation fails, or an idle stream ends.
var Scenarios = []bench.Scenario{
	scenario("tickets", "a new player is queued", bench.Load{Callers: 32}, (*load).create),
	scenario("watch", "the same, while streams of watchers are open and idle", bench.Load{Callers: 32, Watchers: 5_000},
		(*load).create, (*load).watchIdly),
	scenario("query", "queries all of the --tickets that wait", bench.Load{Callers: 1, Tickets: 10_000},
		(*load).queryAll, (*load).queueForQuery),
	scenario("fetch", "--tickets wait, are fetched in pairs, and each pair is assigned",
		bench.Load{Callers: 1, Tickets: 10_000}, (*load).fetchAll, (*load).serveFunction),
	scenario("ticket-life", "a new player is queued and waits for the assignment", bench.Load{Callers: 256, Rate: 100},
		(*load).queueAndAwait, (*load).serveFunction, (*load).fetchAndAssign),
}

// scenario returns a scenario whose runs connect the callers, make the preparations in their order, and then repeat turn.
func scenario(name, about string, usual bench.Load, turn func(*load, context.Context, *bench.Caller) error,
	preparations ...func(*load, context.Context) error) bench.Scenario {
	usual.Connections = 8
	return bench.Define(bench.Scenario{Name: name, About: about, Usual: usual, Kind: codeOf}, newLoad, turn,
		append([]func(*load, context.Context) error{(*load).connectCallers}, preparations...)...)
}

// codeOf is the gRPC code of a failed call.
func codeOf(err error) string { return status.Code(err).String() }
