package openmatch

import (
	"context"
	"math"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
)

// The calls of Embark's fork about several tickets. A call that reads tickets holds a share of QueryMemory meanwhile.

const (
	// readAtOnce bounds the tickets of GetTickets that are read together.
	readAtOnce = 64
	// maxAnswer bounds, in bytes, an answer with several tickets.
	maxAnswer = 16 << 20
)

// errManyTickets ends a call whose tickets are too large together.
var errManyTickets = status.Errorf(codes.ResourceExhausted, "the tickets have more than %d bytes: ask for fewer",
	maxAnswer)

// Numbers of the fields with tickets, in GetTicketsResponse and BackfillTickets.
const (
	ticketsFound, ticketsOfBackfill protowire.Number = 1, 2
)

// GetTickets implements pb.FrontendServiceServer.
func (f frontend) GetTickets(ctx context.Context, r *pb.GetTicketsRequest) (*pb.GetTicketsResponse, error) {
	if err := f.server.takeMemory(ctx); err != nil {
		return nil, err
	}
	// The share is for reading. What gRPC holds of the built answer is counted as that of any other answer.
	defer f.server.queryMemory.Release(readingBytes)
	var answer []byte
	for ids := range slices.Chunk(withoutRepeats(r.GetTicketIds()), readAtOnce) {
		found, err := f.server.options.Store.GetTickets(ctx, f.server.options.Universe, ids)
		if err != nil {
			return nil, err
		}
		// Each part is appended at once, so that the rows of all tickets are never in memory beside the answer.
		if answer, err = appendTickets(answer, ticketsFound, inOrder(found, ids)); err != nil {
			return nil, err
		}
	}
	return ticketbody.Raw(&pb.GetTicketsResponse{}, answer), nil
}

// GetBackfillTickets implements pb.FrontendServiceServer.
func (f frontend) GetBackfillTickets(ctx context.Context, r *pb.GetBackfillRequest) (*pb.BackfillTickets, error) {
	if err := f.server.takeMemory(ctx); err != nil {
		return nil, err
	}
	defer f.server.queryMemory.Release(readingBytes)
	tickets, err := f.server.options.Store.TicketsOfBackfill(ctx, f.server.options.Universe, r.GetBackfillId())
	if err != nil {
		return nil, err
	}
	answer := protowire.AppendTag(nil, 1, protowire.BytesType)
	answer, err = appendTickets(protowire.AppendString(answer, r.GetBackfillId()), ticketsOfBackfill, tickets)
	return ticketbody.Raw(&pb.BackfillTickets{}, answer), err
}

// DeleteTickets implements pb.FrontendServiceServer.
func (f frontend) DeleteTickets(ctx context.Context, r *pb.DeleteTicketsRequest) (*emptypb.Empty, error) {
	ids := withoutRepeats(r.GetTicketIds())
	return &emptypb.Empty{}, f.server.options.Store.DeleteTickets(ctx, f.server.options.Universe, ids)
}

// GetIndexedTicketCount implements pb.FrontendServiceServer.
func (f frontend) GetIndexedTicketCount(ctx context.Context,
	_ *pb.GetIndexedTicketCountRequest) (*pb.GetIndexedTicketCountResponse, error) {
	n, err := f.server.options.Store.CountQueuedTickets(ctx, f.server.options.Universe)
	// The field has 32 bits.
	return &pb.GetIndexedTicketCountResponse{Count: int32(min(n, math.MaxInt32))}, err
}

// withoutRepeats returns each id once, in its first place.
func withoutRepeats(ids []string) []string {
	seen := make(map[string]struct{}, len(ids))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, repeated := seen[id]
		seen[id] = struct{}{}
		return repeated
	})
}

// inOrder returns the tickets in the order of the ids, which name each of them.
func inOrder(tickets []db.Ticket, ids []string) []db.Ticket {
	place := make(map[string]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	slices.SortFunc(tickets, func(a, b db.Ticket) int { return place[a.ID] - place[b.ID] })
	return tickets
}

// appendTickets appends tickets to a message as a repeated field, up to maxAnswer.
func appendTickets(message []byte, field protowire.Number, tickets []db.Ticket) ([]byte, error) {
	for _, t := range tickets {
		message = ticketbody.AppendMessage(message, field, t.Encoded())
		if len(message) > maxAnswer {
			return nil, errManyTickets
		}
	}
	return message, nil
}
