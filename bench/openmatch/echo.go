package openmatch

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// ServeEcho answers calls at once and without a database or authentication: CreateTicket returns its ticket with an id
// and a time. Its costs are gRPC and protobuf only. It returns when ctx has ended and calls have been answered.
func ServeEcho(ctx context.Context, addr string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window))
	pb.RegisterFrontendServiceServer(server, &echo{})
	defer context.AfterFunc(ctx, server.GracefulStop)()
	// Serve returns only after GracefulStop has waited for the answers to all calls.
	return server.Serve(listener)
}

// echo has no tickets: it only counts those that it was sent.
type echo struct {
	pb.UnimplementedFrontendServiceServer

	created atomic.Int64
}

// CreateTicket implements openmatch.FrontendService.
func (e *echo) CreateTicket(_ context.Context, req *pb.CreateTicketRequest) (*pb.Ticket, error) {
	ticket := req.GetTicket()
	// The id is as long as a director's.
	ticket.Id, ticket.CreateTime = fmt.Sprintf("%020d", e.created.Add(1)), timestamppb.Now()
	return ticket, nil
}
