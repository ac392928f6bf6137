package openmatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
)

// newTicket is a ticket of about 150 bytes, with two terms and two doubles as search fields, as a small game has.
func (l *load) newTicket(tag string) *pb.CreateTicketRequest {
	return &pb.CreateTicketRequest{Ticket: &pb.Ticket{SearchFields: &pb.SearchFields{
		Tags:       []string{tag},
		StringArgs: map[string]string{"mode": l.tag},
		DoubleArgs: map[string]float64{"skill": rand.Float64() * 3000, "latency": rand.Float64() * 200},
	}}}
}

// poolOf is the pool of all tickets with the tag.
func poolOf(tag string) *pb.Pool {
	return &pb.Pool{Name: tag, TagPresentFilters: []*pb.TagPresentFilter{{Tag: tag}}}
}

// queue creates n tickets.
func (l *load) queue(ctx context.Context, n int, tag string) ([]string, error) {
	ids := make([]string, n)
	err := bench.Concurrently(ctx, n, maxConcurrent, func(ctx context.Context, i int) error {
		created, err := l.frontendOf(i).CreateTicket(ctx, l.newTicket(tag))
		ids[i] = created.GetId()
		return err
	})
	if err != nil {
		err = fmt.Errorf("tickets cannot be queued: %w", err)
	}
	return ids, err
}

// deleteTickets deletes the tickets of the run that still wait. Those that it does not reach stay in the queue until
// they expire.
func (l *load) deleteTickets(ctx context.Context) error {
	if l.job.Options.KeepsQueue {
		return nil
	}
	left, _ := waitingTickets(ctx, l.conns[0], &pb.Pool{
		StringEqualsFilters: []*pb.StringEqualsFilter{{StringArg: "mode", Value: l.tag}}})
	_ = bench.Concurrently(ctx, len(left), maxConcurrent, func(ctx context.Context, i int) error {
		_, _ = l.frontendOf(i).DeleteTicket(ctx, &pb.DeleteTicketRequest{TicketId: left[i].GetId()})
		return nil
	})
	return nil
}

// waitingTickets reads all pages of a pool.
func waitingTickets(ctx context.Context, conn *grpc.ClientConn, pool *pb.Pool) (all []*pb.Ticket, err error) {
	stream, err := pb.NewQueryServiceClient(conn).QueryTickets(ctx, &pb.QueryTicketsRequest{Pool: pool})
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

// countTickets is the number of waitingTickets. It takes the pages for empty messages, whose unknown fields are the tickets:
// decoding them is the caller's work, and would be measured as the director's.
func countTickets(ctx context.Context, conn *grpc.ClientConn, pool *pb.Pool) (total int, err error) {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
		pb.QueryService_QueryTickets_FullMethodName)
	if err != nil {
		return 0, err
	}
	if err := stream.SendMsg(&pb.QueryTicketsRequest{Pool: pool}); err != nil {
		return 0, err
	}
	if err := stream.CloseSend(); err != nil {
		return 0, err
	}
	for {
		var page emptypb.Empty
		err := stream.RecvMsg(&page)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return 0, err
		}
		total += countFields(page.ProtoReflect().GetUnknown())
	}
}

// countFields counts the fields of a message that was decoded, and is valid therefore.
func countFields(message []byte) (n int) {
	for ; len(message) > 0; n++ {
		_, _, size := protowire.ConsumeField(message)
		message = message[size:]
	}
	return n
}
