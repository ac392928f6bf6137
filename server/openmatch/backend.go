package openmatch

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
)

// backend is openmatch.BackendService; FetchMatches is in fetch.go.
type backend struct {
	pb.UnimplementedBackendServiceServer
	server *Server
}

// AssignTickets implements pb.BackendServiceServer. The answer lists missing tickets; the others are assigned, unless
// the caller asks for all or none.
func (b backend) AssignTickets(ctx context.Context, r *pb.AssignTicketsRequest) (*pb.AssignTicketsResponse, error) {
	groups, err := b.server.options.encodeAssignments(r.GetAssignments())
	if err != nil || len(groups) == 0 {
		return &pb.AssignTicketsResponse{}, err
	}
	allOrNone, err := boolOption(ctx, optionAllOrNone)
	if err != nil {
		return nil, err
	}
	missing, err := b.server.options.Store.AssignTickets(ctx, b.server.options.Universe,
		db.Assignments{Groups: groups, AllOrNone: allOrNone})
	if err != nil {
		return nil, err
	}
	answer := &pb.AssignTicketsResponse{Failures: make([]*pb.AssignmentFailure, 0, len(missing))}
	for _, id := range missing {
		answer.Failures = append(answer.Failures,
			&pb.AssignmentFailure{TicketId: id, Cause: pb.AssignmentFailure_TICKET_NOT_FOUND})
	}
	// The failures go into an error: a client that does not read those of an answer would take the tickets for assigned.
	if allOrNone && len(missing) > 0 {
		return nil, noneAssigned(answer)
	}
	return answer, nil
}

// maxDetails bounds, in bytes, the failures in an error: gRPC sends them in the headers of the answer.
const maxDetails = 4 << 10

func noneAssigned(failures *pb.AssignTicketsResponse) error {
	n := len(failures.GetFailures())
	// Leaving failures out loses no count: the number of all of them is in the text.
	for proto.Size(failures) > maxDetails {
		failures.Failures = failures.GetFailures()[:len(failures.GetFailures())/2]
	}
	s := status.Newf(codes.FailedPrecondition, "%d tickets are not there, so none was assigned", n)
	if detailed, err := s.WithDetails(failures); err == nil {
		s = detailed
	}
	return s.Err()
}

// encodeAssignments checks the groups and encodes their assignments, before anything is written.
func (o Options) encodeAssignments(asked []*pb.AssignmentGroup) ([]db.Assignment, error) {
	checkedGroups := make([]match.AssignmentGroup, 0, len(asked))
	groups := make([]db.Assignment, 0, len(asked))
	written := 0
	for _, g := range asked {
		checkedGroups = append(checkedGroups, match.AssignmentGroup{Tickets: g.GetTicketIds(),
			HasAssignment: g.GetAssignment() != nil})
		// Not nil, also for an empty assignment: the store takes nil for "no assignment".
		encoded, err := ticketbody.EncodeWithin(o.MaxTicket, "the assignment", g.GetAssignment())
		if err != nil {
			return nil, err
		}
		// A small call may have one large assignment for many tickets, which is written once for each of them.
		written += len(encoded) * len(g.GetTicketIds())
		if written > maxAssigned {
			return nil, invalidError(fmt.Sprintf("the assignments of all tickets together have more than %d bytes: "+
				"assign fewer at a time", maxAssigned))
		}
		groups = append(groups, db.Assignment{TicketIDs: g.GetTicketIds(), EncodedAssignment: encoded})
	}
	return groups, match.CheckAssignments(checkedGroups)
}

// maxAssigned bounds, in bytes, what one call may write: each ticket stores its own copy of the assignment.
const maxAssigned = 64 << 20

// ReleaseTickets implements pb.BackendServiceServer.
func (b backend) ReleaseTickets(ctx context.Context, r *pb.ReleaseTicketsRequest) (*pb.ReleaseTicketsResponse, error) {
	return &pb.ReleaseTicketsResponse{}, b.server.options.Store.ReleaseTickets(ctx, b.server.options.Universe,
		r.GetTicketIds())
}

// ReleaseAllTickets implements pb.BackendServiceServer.
func (b backend) ReleaseAllTickets(ctx context.Context,
	_ *pb.ReleaseAllTicketsRequest) (*pb.ReleaseAllTicketsResponse, error) {
	return &pb.ReleaseAllTicketsResponse{}, b.server.options.Store.ReleaseAllTickets(ctx, b.server.options.Universe)
}
