package openmatch

import (
	"context"
	"fmt"
	"net"
	"slices"

	"google.golang.org/grpc"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// function is a match function that pairs players in the order of the query, at minimal cost: its time is measured,
// too. A player who is left over plays alone.
type function struct {
	pb.UnimplementedMatchFunctionServer

	conn *grpc.ClientConn
}

// serveFunction serves the match function on this machine until the load has ended, and sets functionConfig.
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
	pb.RegisterMatchFunctionServer(server, &function{conn: conn})
	// The director may still hold a stream to the server, which a graceful stop would wait for.
	context.AfterFunc(ctx, server.Stop)
	l.job.Beside(ctx, func(context.Context) error { return server.Serve(listener) })
	l.functionConfig = &pb.FunctionConfig{Host: "127.0.0.1", Port: int32(listener.Addr().(*net.TCPAddr).Port),
		Type: pb.FunctionConfig_GRPC}
	return nil
}

// Run implements pb.MatchFunctionServer.
func (f *function) Run(req *pb.RunRequest, stream pb.MatchFunction_RunServer) error {
	profile := req.GetProfile()
	waiting, err := waitingTickets(stream.Context(), f.conn, profile.GetPools()[0])
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
