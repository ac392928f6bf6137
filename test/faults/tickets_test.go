package faults

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/test/rigtest"
)

// delivered is a match that a director got.
type delivered struct {
	tickets []string
	settled bool // AssignTickets succeeded for all of them
}

// The outcomes of a cancel.
const (
	cancelled = "cancelled"
	tooLate   = "in a match, or assigned"
	noAnswer  = "no answer"
)

const (
	// matchedFor is how long a match may wait for its assignment. assignTimeout, after which a director gives up, is
	// shorter: no director assigns tickets that may be in another match by then.
	matchedFor    = 8 * time.Second
	assignTimeout = 3 * time.Second
)

// queue creates n tickets, and cancels a tenth of them.
func (l *omRig) queue(ctx context.Context, n int) {
	rigtest.Each(n, 64, func(int) {
		if ctx.Err() == nil {
			l.queuePlayer(ctx)
		}
	})
}

// queuePlayer creates a ticket, and cancels one of ten.
func (l *omRig) queuePlayer(ctx context.Context) {
	id, err := l.create(ctx, &pb.SearchFields{
		Tags: []string{[]string{"red", "blue"}[rand.IntN(2)]}, DoubleArgs: map[string]float64{"skill": rand.Float64()},
	})
	if err != nil {
		return
	}
	if rand.IntN(10) == 0 {
		pause(ctx, time.Duration(rand.IntN(300))*time.Millisecond)
		l.cancel(ctx, id)
	}
}

// create creates a ticket. Errors other than the end of ctx fail the test.
func (l *omRig) create(ctx context.Context, f *pb.SearchFields) (id string, err error) {
	tries := 0
	err = l.conns.RetryCall(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		tries++
		made, err := pb.NewFrontendServiceClient(conn).CreateTicket(ctx,
			&pb.CreateTicketRequest{Ticket: &pb.Ticket{SearchFields: f}})
		id = made.GetId()
		return err
	})
	if err != nil {
		// The answer to an earlier try was lost, and its ticket has the player.
		wasMade := tries > 1 && status.Code(err) == codes.AlreadyExists
		if ctx.Err() == nil && !wasMade {
			l.T.Errorf("create: %v", err)
		}
		return "", err
	}
	l.mu.Lock()
	l.created = append(l.created, id)
	l.mu.Unlock()
	return id, nil
}

// cancel calls CancelTicket once. Without an answer the outcome is unknown: a retry would get a different answer.
func (l *omRig) cancel(ctx context.Context, id string) {
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	answer, err := pb.NewTicketsClient(l.conns.NextConn()).CancelTicket(ctx, &pb.CancelTicketRequest{TicketId: id})
	outcome := tooLate
	switch {
	case err != nil:
		outcome = noAnswer
	case answer.GetCancelled():
		outcome = cancelled
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelAnswers[id] = outcome
}

// profiles overlap: each ticket is in three of the four pools.
func profiles() []*pb.MatchProfile {
	pool := func(name string, p *pb.Pool) *pb.MatchProfile {
		return &pb.MatchProfile{Name: name, Pools: []*pb.Pool{p}}
	}
	return []*pb.MatchProfile{
		pool("all", &pb.Pool{}),
		pool("red", &pb.Pool{TagPresentFilters: []*pb.TagPresentFilter{{Tag: "red"}}}),
		pool("blue", &pb.Pool{TagPresentFilters: []*pb.TagPresentFilter{{Tag: "blue"}}}),
		pool("any skill", &pb.Pool{DoubleRangeFilters: []*pb.DoubleRangeFilter{{DoubleArg: "skill", Min: 0, Max: 1}}}),
	}
}

// runDirector fetches matches and assigns them until ctx ends.
func (l *omRig) runDirector(ctx context.Context, profile *pb.MatchProfile) {
	var assigning sync.WaitGroup
	defer assigning.Wait()
	for ctx.Err() == nil {
		startAssigning := func(m *pb.Match) { assigning.Go(func() { l.assignMatch(ctx, m) }) }
		if err := l.fetch(ctx, l.conns.NextConn(), profile, startAssigning); err != nil {
			pause(ctx, 50*time.Millisecond)
		}
	}
}

// fetch calls FetchMatches of one replica once. It returns nil when it got all matches.
func (l *omRig) fetch(ctx context.Context, conn *grpc.ClientConn, profile *pb.MatchProfile, got func(*pb.Match)) error {
	stream, err := pb.NewBackendServiceClient(conn).FetchMatches(ctx,
		&pb.FetchMatchesRequest{Config: l.function, Profile: profile})
	return functionstest.ReceiveEach(stream, err, func(answer *pb.FetchMatchesResponse) { got(answer.GetMatch()) })
}

// assignMatch assigns all tickets of a match or none, and retries until assignTimeout.
func (l *omRig) assignMatch(ctx context.Context, m *pb.Match) {
	d := &delivered{}
	for _, ticket := range m.GetTickets() {
		d.tickets = append(d.tickets, ticket.GetId())
	}
	l.mu.Lock()
	where := "match " + strconv.Itoa(len(l.matches))
	l.matches[where] = d
	l.mu.Unlock()
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), assignTimeout)
	defer stop()
	ctx = metadata.AppendToOutgoingContext(ctx, "director-all-or-none", "true")
	err := l.conns.RetryCall(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		return assign(ctx, conn, where, d.tickets...)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	d.settled = err == nil
}

// assignmentOf returns the connection that a ticket is assigned to: "" while it waits. gone means that there is no such
// ticket.
func (l *omRig) assignmentOf(ctx context.Context, id string) (where string, gone bool) {
	err := l.conns.RetryCall(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		ticket, err := pb.NewFrontendServiceClient(conn).GetTicket(ctx, &pb.GetTicketRequest{TicketId: id})
		where = ticket.GetAssignment().GetConnection()
		return err
	})
	if status.Code(err) == codes.NotFound {
		return "", true
	}
	if err != nil {
		l.T.Errorf("get: %v", err)
	}
	return where, false
}

// ticketState is the result of assignmentOf.
type ticketState struct {
	where string
	gone  bool
}

// ticketStates returns the states of all created tickets, in their order.
func (l *omRig) ticketStates(ctx context.Context) []ticketState {
	all := make([]ticketState, len(l.created))
	rigtest.Each(len(all), 32, func(i int) { all[i].where, all[i].gone = l.assignmentOf(ctx, l.created[i]) })
	return all
}

// awaitQueue waits until at most so many tickets wait.
func (l *omRig) awaitQueue(tickets int) {
	l.T.Helper()
	require.Eventually(l.T, func() bool {
		return one[int](l.rig, "SELECT coalesce(sum(tickets), 0)::int FROM ops.queue") <= tickets
	}, 3*time.Minute, 200*time.Millisecond)
}

// Three replicas serve four directors whose profiles overlap and 20,000 players (5,000 unless the run is long), of whom
// a tenth cancel, while one replica after the other is killed. No ticket is in two matches, none is lost, and a
// cancelled ticket is in no match.
func TestTicketsSurviveKilledReplicas(t *testing.T) {
	t.Parallel()
	players := longtest.Pick(5_000, 20_000)
	l := newOMRig(t, 3)
	var replicas []*process
	for n := range l.conns.AllConns {
		replicas = append(replicas, l.startReplica(n))
	}
	directing, stop := context.WithCancel(t.Context())
	killing, endKilling := context.WithCancel(t.Context())
	defer stop()
	defer endKilling()
	var all, killer sync.WaitGroup
	for _, p := range profiles() {
		all.Go(func() { l.runDirector(directing, p) })
	}
	kills := 0
	killer.Go(func() {
		for pause(killing, 300*time.Millisecond); killing.Err() == nil; pause(killing, 300*time.Millisecond) {
			n := kills % len(replicas)
			replicas[n].Process.Kill()
			kills++
			pause(killing, 300*time.Millisecond)
			replicas[n] = l.startReplica(n)
		}
	})
	l.queue(t.Context(), players)
	l.awaitQueue(players / 10)
	endKilling()
	killer.Wait()
	// Matches whose director got no answer free their tickets after matchedFor. One ticket may be left over.
	l.awaitQueue(1)
	stop()
	all.Wait()
	l.requireConsistent(t.Context())
	require.Greater(t, kills, 1)
	t.Logf("%d tickets, %d matches, %d replicas killed", len(l.created), len(l.matches), kills)
}

// requireConsistent compares the answers that players and directors got with each other and with the states of the
// tickets.
func (l *omRig) requireConsistent(ctx context.Context) {
	l.T.Helper()
	matchesOf := map[string][]string{}
	for where, m := range l.matches {
		for _, id := range m.tickets {
			if m.settled {
				matchesOf[id] = append(matchesOf[id], where)
			}
		}
	}
	waiting, cancels, states := 0, 0, l.ticketStates(ctx)
	for i, id := range l.created {
		where, gone := states[i].where, states[i].gone
		settled := matchesOf[id]
		require.LessOrEqual(l.T, len(settled), 1, "%s was assigned for two matches: %v", id, settled)
		switch {
		case gone:
			require.Contains(l.T, []string{cancelled, noAnswer}, l.cancelAnswers[id], "%s is lost", id)
			require.Empty(l.T, settled, "%s is gone, and yet its match was assigned", id)
			cancels++
		case where == "":
			waiting++
			require.Empty(l.T, settled)
		default:
			require.NotEqual(l.T, cancelled, l.cancelAnswers[id], "%s was cancelled, and yet is assigned", id)
			m, known := l.matches[where] // require.Contains reads the whole map
			require.True(l.T, known, where)
			require.Contains(l.T, m.tickets, id, "assigned to a match that it is not in")
			if len(settled) > 0 {
				require.Equal(l.T, settled[0], where, "assigned to another match")
			}
		}
	}
	require.LessOrEqual(l.T, waiting, 1)
	require.Positive(l.T, cancels)
	l.RequireInvariants()
}
