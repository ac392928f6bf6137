package openmatch

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// ServeEcho answers calls at once and without a database or authentication: CreateTicket returns its ticket with an id
// and a time, and QueryTickets returns as many tickets as the name of the pool says. Its costs are gRPC and protobuf
// only. It returns when ctx has ended and calls have been answered.
func ServeEcho(ctx context.Context, addr string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window))
	pb.RegisterFrontendServiceServer(server, &frontendEcho{})
	pb.RegisterQueryServiceServer(server, queryEcho{})
	stopped := make(chan struct{})
	unbind := context.AfterFunc(ctx, func() { server.GracefulStop(); close(stopped) })
	err = server.Serve(listener)
	if !unbind() {
		<-stopped
	}
	return err
}

type frontendEcho struct {
	pb.UnimplementedFrontendServiceServer

	created atomic.Int64
}

// CreateTicket implements openmatch.FrontendService.
func (e *frontendEcho) CreateTicket(_ context.Context, req *pb.CreateTicketRequest) (*pb.Ticket, error) {
	ticket := req.GetTicket()
	ticket.Id, ticket.CreateTime = echoID(e.created.Add(1)), timestamppb.Now()
	return ticket, nil
}

// DeleteTicket implements openmatch.FrontendService.
func (*frontendEcho) DeleteTicket(context.Context, *pb.DeleteTicketRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

// echoID has the length of an id of Open Match.
func echoID(n int64) string { return fmt.Sprintf("%020d", n) }

type queryEcho struct {
	pb.UnimplementedQueryServiceServer
}

// echoPage is the size of a director's messages: clients refuse more than 4 MiB.
const echoPage = 10_000

// QueryTickets implements openmatch.QueryService.
func (queryEcho) QueryTickets(req *pb.QueryTicketsRequest, stream pb.QueryService_QueryTicketsServer) error {
	left, err := strconv.Atoi(req.GetPool().GetName())
	if err != nil {
		return err
	}
	one := newTicket(req.GetPool().GetTagPresentFilters()[0].GetTag()).GetTicket()
	one.Id, one.CreateTime = echoID(0), timestamppb.Now()
	body, err := proto.Marshal(one)
	if err != nil {
		return err
	}
	for ; left > 0; left -= echoPage {
		if err := stream.Send(pageOf(body, min(left, echoPage))); err != nil {
			return err
		}
	}
	return nil
}

// pageOf encodes n copies of a ticket from its bytes, as a director does.
func pageOf(body []byte, n int) *pb.QueryTicketsResponse {
	field := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.BytesType), uint64(len(body)))
	page := make([]byte, 0, n*(len(field)+len(body)))
	for range n {
		page = append(append(page, field...), body...)
	}
	response := &pb.QueryTicketsResponse{}
	response.ProtoReflect().SetUnknown(page)
	return response
}
