package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// lobby is players, directors and a match function of Open Match's kind around an installation, and what each was told.
type lobby struct {
	*rig
	grpcAddrs []string
	conns     []*grpc.ClientConn
	turn      atomic.Int64
	function  *pb.FunctionConfig

	mu      sync.Mutex
	created []string
	told    map[string]string // by ticket that somebody wanted back: what was answered, gaveUp where nothing was
	matches map[string]*delivered
}

// delivered is a match that a director got.
type delivered struct {
	tickets []string
	settled bool // all of them were assigned, the director was told so
}

const (
	cancelled = "cancelled"
	tooLate   = "in a match, or assigned"
	gaveUp    = "no answer"

	// matchedFor is how long a match may wait for its assignment, and directorPatience when a director leaves one: no
	// director assigns what may have been matched again.
	matchedFor       = 8 * time.Second
	directorPatience = 3 * time.Second
)

func newLobby(t *testing.T, replicas int) *lobby {
	t.Helper()
	l := &lobby{
		rig:  newRig(t, "DIRECTOR_OM_REGISTRATION=100ms", "DIRECTOR_OM_COLLECTION=3s", "DIRECTOR_OM_PENDING_FOR="+matchedFor.String()),
		told: map[string]string{}, matches: map[string]*delivered{},
	}
	for range replicas {
		addr := freeAddr(t)
		l.grpcAddrs = append(l.grpcAddrs, addr)
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		l.conns = append(l.conns, conn)
	}
	l.serveFunction()
	return l
}

func (l *lobby) start(n int) *process {
	l.t.Helper()
	return l.serve("--work", "--grpc-addr", l.grpcAddrs[n])
}

func (l *lobby) conn() *grpc.ClientConn { return l.conns[int(l.turn.Add(1))%len(l.conns)] }

// again asks one replica after the other until one answers something else than that it cannot.
func (l *lobby) again(ctx context.Context, ask func(context.Context, *grpc.ClientConn) error) error {
	for {
		call, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := ask(call, l.conn())
		cancel()
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted:
		default:
			return err
		}
		if ctx.Err() != nil {
			return err
		}
		rest(ctx, 10*time.Millisecond)
	}
}

// functionServer pairs tickets of the same pool, the first ones first.
type functionServer struct {
	pb.UnimplementedMatchFunctionServer
	*lobby
	runs atomic.Int64
}

const mostPairs = 500

// Run implements pb.MatchFunctionServer.
func (f *functionServer) Run(r *pb.RunRequest, stream grpc.ServerStreamingServer[pb.RunResponse]) error {
	var waiting []*pb.Ticket
	query, err := pb.NewQueryServiceClient(f.conn()).QueryTickets(stream.Context(), &pb.QueryTicketsRequest{Pool: r.GetProfile().GetPools()[0]})
	for err == nil {
		var page *pb.QueryTicketsResponse
		if page, err = query.Recv(); err == nil {
			waiting = append(waiting, page.GetTickets()...)
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	run := f.runs.Add(1)
	n := 0
	for pair := range slices.Chunk(waiting, 2) {
		if len(pair) < 2 || n == mostPairs {
			break
		}
		n++
		if err := stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: fmt.Sprintf("m-%d-%d", run, n), MatchProfile: r.GetProfile().GetName(), Tickets: pair}}); err != nil {
			return err
		}
	}
	return nil
}

func (l *lobby) serveFunction() {
	l.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(l.t, err)
	server := grpc.NewServer()
	pb.RegisterMatchFunctionServer(server, &functionServer{lobby: l})
	go func() { _ = server.Serve(listener) }()
	l.t.Cleanup(server.Stop)
	l.function = &pb.FunctionConfig{Host: "127.0.0.1", Port: int32(listener.Addr().(*net.TCPAddr).Port), Type: pb.FunctionConfig_GRPC}
}

// queue has n players come, some of whom go again.
func (l *lobby) queue(ctx context.Context, n int) {
	var next atomic.Int64
	var players sync.WaitGroup
	for range 64 {
		players.Go(func() {
			for next.Add(1) <= int64(n) && ctx.Err() == nil {
				l.player(ctx)
			}
		})
	}
	players.Wait()
}

func (l *lobby) player(ctx context.Context) {
	ticket := &pb.Ticket{SearchFields: &pb.SearchFields{
		Tags: []string{[]string{"red", "blue"}[rand.IntN(2)]}, DoubleArgs: map[string]float64{"skill": rand.Float64()},
	}}
	var id string
	err := l.again(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		made, err := pb.NewFrontendServiceClient(conn).CreateTicket(ctx, &pb.CreateTicketRequest{Ticket: ticket})
		id = made.GetId()
		return err
	})
	if err != nil && ctx.Err() != nil {
		return
	}
	if err != nil {
		l.t.Errorf("create: %v", err)
		return
	}
	l.mu.Lock()
	l.created = append(l.created, id)
	l.mu.Unlock()
	if rand.IntN(10) == 0 {
		rest(ctx, time.Duration(rand.IntN(300))*time.Millisecond)
		l.cancel(ctx, id)
	}
}

// cancel asks once: whoever is not answered does not know, and asking again would answer something else.
func (l *lobby) cancel(ctx context.Context, id string) {
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	answer, err := pb.NewTicketsClient(l.conn()).CancelTicket(ctx, &pb.CancelTicketRequest{TicketId: id})
	said := tooLate
	switch {
	case err != nil:
		said = gaveUp
	case answer.GetCancelled():
		said = cancelled
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told[id] = said
}

// profiles overlap: each ticket is in three of their pools.
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

// direct fetches matches and assigns them until ctx ends.
func (l *lobby) direct(ctx context.Context, profile *pb.MatchProfile) {
	var assigning sync.WaitGroup
	defer assigning.Wait()
	for ctx.Err() == nil {
		err := l.fetch(ctx, l.conn(), profile, func(m *pb.Match) { assigning.Go(func() { l.assign(ctx, m) }) })
		if !errors.Is(err, io.EOF) {
			rest(ctx, 50*time.Millisecond)
		}
	}
}

// fetch asks one replica for matches once. It returns io.EOF when it got all of them.
func (l *lobby) fetch(ctx context.Context, conn *grpc.ClientConn, profile *pb.MatchProfile, got func(*pb.Match)) error {
	stream, err := pb.NewBackendServiceClient(conn).FetchMatches(ctx, &pb.FetchMatchesRequest{Config: l.function, Profile: profile})
	for err == nil {
		var answer *pb.FetchMatchesResponse
		if answer, err = stream.Recv(); err == nil {
			got(answer.GetMatch())
		}
	}
	return err
}

// assign tells the players of a match where to play, all or none, until it is answered or it is too late.
func (l *lobby) assign(ctx context.Context, m *pb.Match) {
	d := &delivered{}
	for _, ticket := range m.GetTickets() {
		d.tickets = append(d.tickets, ticket.GetId())
	}
	l.mu.Lock()
	where := "match " + strconv.Itoa(len(l.matches))
	l.matches[where] = d
	l.mu.Unlock()
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), directorPatience)
	defer stop()
	ctx = metadata.AppendToOutgoingContext(ctx, "director-all-or-none", "true")
	err := l.again(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewBackendServiceClient(conn).AssignTickets(ctx, &pb.AssignTicketsRequest{
			Assignments: []*pb.AssignmentGroup{{TicketIds: d.tickets, Assignment: &pb.Assignment{Connection: where}}},
		})
		return err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	d.settled = err == nil
}

// becameOf tells where a ticket plays: "" while it waits, gone where it is not there.
func (l *lobby) becameOf(ctx context.Context, id string) (where string, gone bool) {
	err := l.again(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		ticket, err := pb.NewFrontendServiceClient(conn).GetTicket(ctx, &pb.GetTicketRequest{TicketId: id})
		where = ticket.GetAssignment().GetConnection()
		return err
	})
	if status.Code(err) == codes.NotFound {
		return "", true
	}
	if err != nil {
		l.t.Errorf("get: %v", err)
	}
	return where, false
}

// fate is what became of a ticket.
type fate struct {
	where string
	gone  bool
}

// fates asks for all tickets.
func (l *lobby) fates(ctx context.Context) map[string]fate {
	all := make(map[string]fate, len(l.created))
	var askers sync.WaitGroup
	for some := range slices.Chunk(l.created, 1+len(l.created)/32) {
		askers.Go(func() {
			for _, id := range some {
				where, gone := l.becameOf(ctx, id)
				l.mu.Lock()
				all[id] = fate{where, gone}
				l.mu.Unlock()
			}
		})
	}
	askers.Wait()
	return all
}

// killSomeone kills a replica now and then, and starts it again.
func (l *lobby) killSomeone(ctx context.Context, replicas []*process, every time.Duration) (kills int) {
	for {
		rest(ctx, every)
		if ctx.Err() != nil {
			return kills
		}
		n := kills % len(replicas)
		_ = replicas[n].Process.Signal(syscall.SIGKILL)
		<-replicas[n].exited
		rest(ctx, 300*time.Millisecond)
		replicas[n] = l.start(n)
		kills++
	}
}

// Three replicas, four directors whose profiles overlap, 20,000 players of whom a tenth go again, and somebody who kills a
// replica every few seconds: no ticket is in two matches, none is lost, and whoever wanted its ticket back got it back or a
// match, never both.
func TestTicketsSurviveKilledReplicas(t *testing.T) {
	t.Parallel()
	const players = 20_000
	l := newLobby(t, 3)
	var replicas []*process
	for n := range l.conns {
		replicas = append(replicas, l.start(n))
	}
	directing, stop := context.WithCancel(t.Context())
	killing, spare := context.WithCancel(t.Context())
	defer stop()
	defer spare()
	var all, killer sync.WaitGroup
	for _, p := range profiles() {
		all.Go(func() { l.direct(directing, p) })
	}
	kills := 0
	killer.Go(func() { kills = l.killSomeone(killing, replicas, 2*time.Second) })
	l.queue(t.Context(), players)
	waiting := func() int { return one[int](l.rig, "SELECT coalesce(sum(tickets), 0)::int FROM ops.queue") }
	require.Eventually(t, func() bool { return waiting() <= players/10 }, 2*time.Minute, 200*time.Millisecond)
	spare()
	killer.Wait()
	// What was matched for directors that were not told of it is free after matchedFor, and one ticket may be left over.
	require.Eventually(t, func() bool { return waiting() <= 1 }, 2*time.Minute, 200*time.Millisecond)
	stop()
	all.Wait()
	l.requireJust(t.Context())
	require.Greater(t, kills, 1)
	t.Logf("%d tickets, %d matches, %d replicas killed", len(l.created), len(l.matches), kills)
}

// requireJust holds what everybody was told against each other, and against what became of the tickets.
func (l *lobby) requireJust(ctx context.Context) {
	l.t.Helper()
	matchesOf := map[string][]string{}
	for where, m := range l.matches {
		for _, id := range m.tickets {
			if m.settled {
				matchesOf[id] = append(matchesOf[id], where)
			}
		}
	}
	waiting, cancels, fates := 0, 0, l.fates(ctx)
	for _, id := range l.created {
		where, gone := fates[id].where, fates[id].gone
		settled := matchesOf[id]
		require.LessOrEqual(l.t, len(settled), 1, "%s was assigned for two matches: %v", id, settled)
		switch {
		case gone:
			require.Contains(l.t, []string{cancelled, gaveUp}, l.told[id], "%s is lost", id)
			require.Empty(l.t, settled, "%s is gone, its match was told that it plays", id)
			cancels++
		case where == "":
			waiting++
			require.Empty(l.t, settled)
		default:
			require.NotEqual(l.t, cancelled, l.told[id], "%s was taken back, and plays", id)
			require.Contains(l.t, l.matches, where)
			require.Contains(l.t, l.matches[where].tickets, id, "assigned for a match that it was not in")
			if len(settled) > 0 {
				require.Equal(l.t, settled[0], where, "another match took it")
			}
		}
	}
	require.LessOrEqual(l.t, waiting, 1)
	require.Positive(l.t, cancels)
	l.requireSound()
}
