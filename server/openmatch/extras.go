package openmatch

import (
	"context"
	"errors"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/matching/ticketbody"
)

// tickets is director.openmatch.v1.Tickets: calls that Open Match does not have.
type tickets struct {
	pb.UnimplementedTicketsServer
	server *Server
}

// UpdateTicket implements pb.TicketsServer.
func (t tickets) UpdateTicket(ctx context.Context, r *pb.UpdateTicketRequest) (*pb.Ticket, error) {
	ticket := r.GetTicket()
	switch {
	case ticket == nil:
		return nil, invalidError(".ticket is required")
	case ticket.GetId() == "":
		return nil, invalidError("ticket ID should exist")
	case ticket.GetAssignment() != nil:
		return nil, invalidError("tickets cannot be updated with an assignment")
	}
	id := ticket.GetId()
	n, err := t.server.draftOf(ctx, ticket)
	if err != nil {
		return nil, err
	}
	updated, err := t.server.options.Store.UpdateTicket(ctx, t.server.options.Universe, id, n)
	if err != nil {
		return nil, err
	}
	return ticketbody.Raw(&pb.Ticket{}, updated.Body), nil
}

// CancelTicket implements pb.TicketsServer.
func (t tickets) CancelTicket(ctx context.Context, r *pb.CancelTicketRequest) (*pb.CancelTicketResponse, error) {
	result, err := t.server.options.Store.CancelTicket(ctx, t.server.options.Universe, r.GetTicketId())
	switch {
	case err != nil:
		return nil, err
	case result.IsCancelled:
		return &pb.CancelTicketResponse{Cancelled: true}, nil
	// The ticket is assigned. The answer has the assignment, so that the player can still be sent to its server.
	case result.AssignedTicket != nil:
		const assignment = 3
		return ticketbody.Raw(&pb.CancelTicketResponse{},
			ticketbody.AppendMessage(nil, assignment, result.AssignedTicket.EncodedAssignment)), nil
	}
	id, err := matchID(result.MatchedIn)
	return &pb.CancelTicketResponse{MatchId: id}, err
}

// matchID returns the id of the match that a ticket is in. It is stored after the 16 bytes of the cycle's id, because
// two cycles may use the same match id.
func matchID(stored []byte) (string, error) {
	const cycle = 16
	if len(stored) < cycle {
		return "", errors.New("a ticket is in a match without a cycle")
	}
	return string(stored[cycle:]), nil
}

// CountPool implements pb.TicketsServer.
func (t tickets) CountPool(ctx context.Context, r *pb.CountPoolRequest) (*pb.CountPoolResponse, error) {
	if r.GetPool() == nil {
		return nil, invalidError(".pool is required")
	}
	pool := poolOf(r.GetPool())
	if err := pool.Check(); err != nil {
		return nil, err
	}
	n, err := t.server.options.Store.CountTickets(ctx, t.server.options.Universe, pool)
	return &pb.CountPoolResponse{Tickets: n}, err
}
