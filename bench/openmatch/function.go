package openmatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// function is a match function that pairs players in the order of the query, at minimal cost: its time is measured,
// too. A player who is left over plays alone.
type function struct {
	pb.UnimplementedMatchFunctionServer

	query pb.QueryServiceClient
}

// serveFunction serves the match function on this machine until the run is over.
func (l *load) serveFunction(ctx context.Context) error {
	conn, err := l.connect(l.job.Options.URLs[0])
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pb.RegisterMatchFunctionServer(server, &function{query: conn.query})
	var serving errgroup.Group
	serving.Go(func() error { return server.Serve(listener) })
	// the director may still hold a stream to it, which a graceful stop would wait for
	l.job.OnEnd(func() error {
		server.Stop()
		return serving.Wait()
	})
	l.config = &pb.FunctionConfig{Host: "127.0.0.1", Port: int32(listener.Addr().(*net.TCPAddr).Port),
		Type: pb.FunctionConfig_GRPC}
	return nil
}

// Run implements openmatch.MatchFunction.
func (f *function) Run(req *pb.RunRequest, stream pb.MatchFunction_RunServer) error {
	profile := req.GetProfile()
	waiting, err := f.waitingTickets(stream.Context(), profile.GetPools()[0])
	if err != nil {
		return err
	}
	for pair := range slices.Chunk(waiting, 2) {
		proposal := &pb.Match{
			MatchId: fmt.Sprintf("%s-%s", profile.GetName(), pair[0].GetId()), MatchProfile: profile.GetName(),
			MatchFunction: "bench", Tickets: pair,
		}
		if err := stream.Send(&pb.RunResponse{Proposal: proposal}); err != nil {
			return err
		}
	}
	return nil
}

// waitingTickets reads all pages of a pool.
func (f *function) waitingTickets(ctx context.Context, pool *pb.Pool) (all []*pb.Ticket, err error) {
	stream, err := f.query.QueryTickets(ctx, &pb.QueryTicketsRequest{Pool: pool})
	if err != nil {
		return nil, err
	}
	for {
		page, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetTickets()...)
	}
}
