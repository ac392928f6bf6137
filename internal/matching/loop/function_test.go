package loop_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/openmatch/functions"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/server/openmatch"
)

// matchFunctions is a database with a server for queries of match functions.
type matchFunctions struct {
	*bundle
	conn *grpc.ClientConn
}

func setupFunctions(t *testing.T, change ...func(*db.Config)) *matchFunctions {
	t.Helper()
	b := setup(t)
	b.change = change
	server := must.Get(openmatch.New(openmatch.Options{Store: b.store(), Universe: universe,
		Addrs: []string{"127.0.0.1:0"}}))(t)
	require.NoError(t, server.Listen(t.Context()))
	background.Serve(t, server)
	return &matchFunctions{b, functionstest.Dial(t, server.Addrs()[0].String())}
}

// propose is a function that proposes what matchesOf returns for the tickets of its pool, oldest first.
func (f *matchFunctions) propose(matchesOf func(tickets []*pb.Ticket) []*pb.Match) func(*pb.RunRequest,
	functionstest.RunServer) error {
	return functionstest.OfPool(func() *grpc.ClientConn { return f.conn }, matchesOf)
}

const sameID = "one and the same"

func matchOf(tickets ...*pb.Ticket) *pb.Match { return &pb.Match{MatchId: sameID, Tickets: tickets} }

var pairs = functionstest.Pairs(func() string { return sameID })

// functionProfile makes a profile with a function live.
func (f *matchFunctions) functionProfile(name string, at *pb.FunctionConfig, more string) {
	f.t.Helper()
	kind := "grpc"
	if at.GetType() == pb.FunctionConfig_REST {
		kind = "rest"
	}
	f.AddProfile(name, fmt.Sprintf("mode: arena\nfunction: {host: %s, port: %d, type: %s, every: 100ms}\n%s",
		at.GetHost(), at.GetPort(), kind, more))
}

// calls lets a worker call functions.
func (f *matchFunctions) calls(change ...func(*functions.Options)) func(*loop.Options) {
	return func(o *loop.Options) {
		options := variant.Apply(functions.Options{Store: o.Store.(*db.Store), Universe: universe, Loopback: true,
			Collection: time.Second, Log: o.Log}, change...)
		m := must.Get(functions.New(options))(f.t)
		o.Matchmaker = m
	}
}

const assigned = "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL"

// The players of a function's matches have seats, and the teams that the function named, when anybody learns of the
// match.
func TestAFunctionMakesMatches(t *testing.T) {
	t.Parallel()
	f := setupFunctions(t)
	f.host("host-1", 100, "arena")
	named := func(tickets []*pb.Ticket) []*pb.Match {
		all := pairs(tickets)
		for _, m := range all {
			teams, _ := structpb.NewStruct(map[string]any{"red": []any{m.GetTickets()[0].GetId()},
				"blue": []any{m.GetTickets()[1].GetId()}})
			packed, _ := anypb.New(teams)
			m.Extensions = map[string]*anypb.Any{"director.teams": packed}
		}
		return all
	}
	f.functionProfile("duel", functionstest.ServeMMF(t, f.propose(named)), "")
	f.worker(f.calls())
	f.ticket(1000, party("ada", "al"), "duel")
	f.ticket(1000, party("bo"), "duel")
	f.Eventually(2, assigned)
	require.Equal(t, 1, f.Count("SELECT count(*) FROM sessions WHERE mode = 'arena' AND max_players = 3 AND player_count = 3"))
	require.Equal(t, 2, f.Count("SELECT count(*) FROM seats WHERE team = 'red' AND sub IN ('ada', 'al')"))
	require.Equal(t, 1, f.Count("SELECT count(*) FROM seats WHERE team = 'blue' AND sub = 'bo'"))
	require.Equal(t, 1, f.Count("SELECT count(*) FROM match_history WHERE profile = 'duel' AND players = 3 AND (why->'teams') IS NOT NULL"))
	require.Equal(t, 1, f.Count("SELECT count(DISTINCT xmin::text) FROM (SELECT xmin FROM sessions UNION ALL SELECT xmin FROM seats UNION ALL SELECT xmin FROM settled_tickets) x"),
		"one transaction")
	f.RequireInvariants()
}

// Hundreds of matches of one call share cycles and transactions.
func TestAFunctionMakesManyMatches(t *testing.T) {
	t.Parallel()
	f := setupFunctions(t)
	f.host("host-1", 1000, "arena")
	for i := range 200 {
		f.ticket(1000, party(fmt.Sprint("player-", i)), "duel")
	}
	f.functionProfile("duel", functionstest.ServeMMF(t, f.propose(pairs)), "")
	f.worker(f.calls())
	f.Eventually(200, assigned)
	require.Equal(t, 100, f.Count("SELECT count(*) FROM sessions"))
	f.RequireInvariants()
}

// A function that fails, hangs or floods hurts its own profile only, and is called again when it works.
func TestAFunctionFailsAndWorksAgain(t *testing.T) {
	t.Parallel()
	hang := func(_ *pb.RunRequest, stream functionstest.RunServer) error {
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	for name, broken := range map[string]func(*pb.RunRequest, functionstest.RunServer) error{
		"an error":            func(*pb.RunRequest, functionstest.RunServer) error { return errors.New("no idea") },
		"a hang":              hang,
		"answers without end": functionstest.ProposingCount(1_000_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setupFunctions(t)
			f.host("host-1", 100, "arena")
			var works atomic.Bool
			f.functionProfile("duel", functionstest.ServeMMF(t,
				func(r *pb.RunRequest, stream functionstest.RunServer) error {
					if works.Load() {
						return f.propose(pairs)(r, stream)
					}
					return broken(r, stream)
				}), "")
			f.AddProfile("other", duel)
			metrics := prometheus.NewRegistry()
			f.worker(f.calls(), func(o *loop.Options) { o.Metrics = metrics })
			f.ticket(1000, party("ada"), "duel")
			f.ticket(1000, party("bo"), "duel")
			require.Eventually(t, func() bool {
				return metrictest.CountSeries(t, metrics, "director_loop_function_calls_total") == 1
			}, 20*time.Second, 10*time.Millisecond, "the call failed")
			f.ticket(1000, party("cy"), "other")
			f.ticket(1000, party("di"), "other")
			f.Eventually(2, assigned)
			works.Store(true)
			f.Eventually(4, assigned)
			f.RequireInvariants()
		})
	}
}

// Matches that cannot be committed are refused before they take a ticket from anybody, and good ones of the same call
// are made.
func TestAFunctionProposesGarbage(t *testing.T) {
	t.Parallel()
	f := setupFunctions(t)
	f.host("host-1", 100, "arena")
	f.AddProfile("other", duel)
	strange := f.ticket(1000, party("eve"), "other")
	f.ticket(1000, party("ada"), "duel")
	f.ticket(1000, party("bo"), "duel")
	mixed := func(tickets []*pb.Ticket) []*pb.Match {
		good := pairs(tickets)
		if len(good) == 0 {
			return nil
		}
		a, b := tickets[0], tickets[1]
		backfill, teams := matchOf(a, b), matchOf(a, b)
		backfill.Backfill = &pb.Backfill{}
		teams.Extensions = map[string]*anypb.Any{"director.teams": {TypeUrl: "type.googleapis.com/game.Unheard"}}
		return append([]*pb.Match{
			matchOf(a, a), matchOf(a, &pb.Ticket{Id: "nobody's"}), matchOf(), matchOf(a, &pb.Ticket{Id: strange}),
			backfill, teams,
		}, good...)
	}
	f.functionProfile("duel", functionstest.ServeMMF(t, f.propose(mixed)), "")
	metrics := prometheus.NewRegistry()
	f.worker(f.calls(), func(o *loop.Options) { o.Metrics = metrics })
	f.Eventually(2, assigned)
	require.Equal(t, 6, metrictest.CountSeries(t, metrics, "director_loop_function_refused_total"), "reasons")
	require.Zero(t, f.Count("SELECT count(*) FROM tickets WHERE pending_at IS NOT NULL"))
	f.RequireInvariants()
}

// A match without a server keeps its tickets for a while, and is seated when there is one.
func TestAMatchOfAFunctionWaitsForAServer(t *testing.T) {
	t.Parallel()
	f := setupFunctions(t)
	f.functionProfile("duel", functionstest.ServeMMF(t, f.propose(pairs)), "")
	f.worker(f.calls())
	f.host("host-1", 1, "arena")
	f.ticket(1000, party("ada"), "duel")
	f.ticket(1000, party("bo"), "duel")
	f.Eventually(2, "SELECT count(*) FROM ticket_events WHERE state = 'waiting_for_server'")
	f.Eventually(1, "SELECT count(*) FROM demand WHERE matches = 1 AND players = 2 AND key = 'duel/2/global'")
	f.host("host-2", 2, "arena")
	f.Eventually(2, assigned)
	f.Eventually(0, "SELECT count(*) FROM demand")
	f.RequireInvariants()
}

// A match that waits for long is given up, so that the function may propose its tickets anew.
func TestAMatchOfAFunctionIsGivenUp(t *testing.T) {
	t.Parallel()
	f := setupFunctions(t, func(c *db.Config) { c.Timing.PendingFor = 4 * time.Second })
	f.functionProfile("duel", functionstest.ServeMMF(t, f.propose(pairs)), "")
	f.worker(f.calls())
	f.host("host-1", 1, "arena")
	f.ticket(1000, party("ada"), "duel")
	f.ticket(1000, party("bo"), "duel")
	f.Eventually(4, "SELECT count(*) FROM ticket_events WHERE state = 'waiting_for_server'")
	f.host("host-2", 2, "arena")
	f.Eventually(2, assigned)
	f.RequireInvariants()
}

// Players of a function's match are asked first where the profile says so.
func TestAMatchOfAFunctionIsAccepted(t *testing.T) {
	t.Parallel()
	f := setupFunctions(t)
	f.host("host-1", 100, "arena")
	f.functionProfile("duel", functionstest.ServeMMF(t, f.propose(pairs)), "accept: {within: 40s}")
	f.worker(f.calls())
	tickets := map[string]string{"ada": f.ticket(1000, party("ada"), "duel"), "bo": f.ticket(1000, party("bo"), "duel")}
	f.Eventually(2, "SELECT count(*) FROM ticket_events WHERE state = 'accepting'")
	for sub, id := range tickets {
		_, err := f.AnswerReadyCheck(t.Context(), universe,
			db.ReadyCheckAnswer{TicketID: id, PlayerSub: sub, Accept: true})
		require.NoError(t, err)
	}
	f.Eventually(2, assigned)
	f.RequireInvariants()
}

// Tickets of a worker that stopped, or died between the cycle and the commit, are matched by the next one.
func TestAFunctionIsTakenOver(t *testing.T) {
	t.Parallel()
	f := setupFunctions(t, func(c *db.Config) { c.Timing.PendingFor = 3 * time.Second })
	f.functionProfile("duel", functionstest.ServeMMF(t, f.propose(pairs)), "")
	f.host("host-1", 1, "arena")
	stop := f.worker(f.calls())
	f.ticket(1000, party("ada"), "duel")
	f.ticket(1000, party("bo"), "duel")
	f.Eventually(2, "SELECT count(*) FROM ticket_events WHERE state = 'waiting_for_server'")
	stop()
	require.Zero(t, f.Count("SELECT count(*) FROM tickets WHERE pending_at IS NOT NULL"),
		"a worker that stops gives its tickets back")
	f.Exec("UPDATE tickets SET pending_at = now(), matched_in = 'a cycle of the past'")
	f.host("host-2", 2, "arena")
	f.worker(f.calls())
	f.Eventually(2, assigned)
	f.RequireInvariants()
}

// The matches of functions, of rules and of a director outside share the queue, and no ticket is in two of them.
func TestFunctionsOfTwoWorkersShareTheQueue(t *testing.T) {
	t.Parallel()
	f := setupFunctions(t)
	f.host("host-1", 1000, "arena")
	at := functionstest.ServeMMF(t, f.propose(pairs))
	f.functionProfile("one", at, "")
	f.functionProfile("two", at, "")
	f.AddProfile("three", duel)
	f.worker(f.calls())
	f.worker(f.calls())
	for i := range 60 {
		f.ticket(1000, party(fmt.Sprint("player-", i)), "one", "two", "three")
	}
	f.Eventually(60, assigned)
	require.Equal(t, 60, f.Count("SELECT count(DISTINCT sub) FROM seats"))
	f.RequireInvariants()
}
