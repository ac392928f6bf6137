package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/test/rigtest"
)

// omRig is an installation with players, directors and a match function of Open Match, and the answers that each got.
type omRig struct {
	*rig
	grpcAddrs []string
	conns     *rigtest.Conns
	function  *pb.FunctionConfig

	mu      sync.Mutex
	created []string
	told    map[string]string // by ticket that its player cancelled: the answer, noAnswer where there was none
	matches map[string]*delivered
}

func newOMRig(t *testing.T, replicas int) *omRig {
	t.Helper()
	l := &omRig{
		rig: newRig(t, "DIRECTOR_OM_REGISTRATION=100ms", "DIRECTOR_OM_COLLECTION=3s",
			"DIRECTOR_OM_PENDING_FOR="+matchedFor.String()),
		told: map[string]string{}, matches: map[string]*delivered{},
	}
	for range replicas {
		l.grpcAddrs = append(l.grpcAddrs, rigtest.FreeAddr(t))
	}
	l.conns = rigtest.DialAll(t, l.grpcAddrs...)
	l.function = serveFunction(t, &functionServer{omRig: l})
	return l
}

func (l *omRig) start(n int) *process {
	l.T.Helper()
	return l.ServeReplica("--work", "--grpc-addr", l.grpcAddrs[n])
}

// functionServer is a match function that pairs tickets of one pool in the order of the query.
type functionServer struct {
	pb.UnimplementedMatchFunctionServer
	*omRig
	runs atomic.Int64
}

const mostPairs = 500

// Run implements pb.MatchFunctionServer.
func (f *functionServer) Run(r *pb.RunRequest, stream grpc.ServerStreamingServer[pb.RunResponse]) error {
	var waiting []*pb.Ticket
	query, err := pb.NewQueryServiceClient(f.conns.NextConn()).QueryTickets(stream.Context(),
		&pb.QueryTicketsRequest{Pool: r.GetProfile().GetPools()[0]})
	if err := receiveAll(query, err, func(page *pb.QueryTicketsResponse) {
		waiting = append(waiting, page.GetTickets()...)
	}); err != nil {
		return err
	}
	run := f.runs.Add(1)
	for n, pair := range slices.Collect(slices.Chunk(waiting, 2)) {
		if len(pair) < 2 || n == mostPairs {
			break
		}
		if err := stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: fmt.Sprintf("m-%d-%d", run, n),
			MatchProfile: r.GetProfile().GetName(), Tickets: pair}}); err != nil {
			return err
		}
	}
	return nil
}

// receiveAll reads an answer to its end. The error is that of the call, or of reading.
func receiveAll[A any](stream grpc.ServerStreamingClient[A], err error, got func(*A)) error {
	for err == nil {
		var answer *A
		if answer, err = stream.Recv(); err == nil {
			got(answer)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// serveFunction serves a match function until the test ends.
func serveFunction(t *testing.T, function pb.MatchFunctionServer) *pb.FunctionConfig {
	t.Helper()
	listener := webtest.Listen(t)
	server := grpc.NewServer()
	pb.RegisterMatchFunctionServer(server, function)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return functionAt(listener, pb.FunctionConfig_GRPC)
}

func functionAt(l net.Listener, kind pb.FunctionConfig_Type) *pb.FunctionConfig {
	return &pb.FunctionConfig{Host: "127.0.0.1", Port: int32(l.Addr().(*net.TCPAddr).Port), Type: kind}
}

// assign assigns tickets to a connection by one call.
func assign(ctx context.Context, conn *grpc.ClientConn, where string, tickets ...string) error {
	_, err := pb.NewBackendServiceClient(conn).AssignTickets(ctx, &pb.AssignTicketsRequest{
		Assignments: []*pb.AssignmentGroup{{TicketIds: tickets, Assignment: &pb.Assignment{Connection: where}}},
	})
	return err
}
