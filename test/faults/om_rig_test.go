package faults

import (
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
	"github.com/lattice-director/director/internal/testkit/must"
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
	l.serveFunction()
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
		if err := stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: fmt.Sprintf("m-%d-%d", run, n),
			MatchProfile: r.GetProfile().GetName(), Tickets: pair}}); err != nil {
			return err
		}
	}
	return nil
}

func (l *omRig) serveFunction() {
	l.T.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(l.T)
	server := grpc.NewServer()
	pb.RegisterMatchFunctionServer(server, &functionServer{omRig: l})
	go func() { _ = server.Serve(listener) }()
	l.T.Cleanup(server.Stop)
	l.function = &pb.FunctionConfig{Host: "127.0.0.1", Port: int32(listener.Addr().(*net.TCPAddr).Port),
		Type: pb.FunctionConfig_GRPC}
}
