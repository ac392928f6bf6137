package openmatch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lattice-director/director/api/openmatch/pb"
)

func group(assignment *pb.Assignment, ids ...string) *pb.AssignmentGroup {
	return &pb.AssignmentGroup{TicketIds: ids, Assignment: assignment}
}

// Pins an assignment of which a part is written before the request is refused.
func TestAssignmentsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(&pb.Ticket{}).GetId()
	to := &pb.Assignment{Connection: "host:1"}
	for text, groups := range map[string][]*pb.AssignmentGroup{
		"AssignmentGroup.Assignment is required":                                     {group(to, id), group(nil, "x")},
		"Ticket id " + id + " is assigned multiple times in one assign tickets call": {group(to, id, "x", id)},
		"Ticket id x is assigned multiple times in one assign tickets call":          {group(to, id, "x"), group(to, "x")},
		"AssignmentGroupTicketIds is empty":                                          {group(to), group(to)},
		"the assignment has 65540 bytes, more than the 65536 that are allowed":       {group(&pb.Assignment{Connection: strings.Repeat("x", 1<<16)}, id)},
		"the assignments of all tickets together have more than 67108864 bytes: assign fewer at a time": {
			group(&pb.Assignment{Connection: strings.Repeat("x", 1<<16-4)}, append(make([]string, 1<<10), id)...),
		},
	} {
		_, err := b.AssignTickets(t.Context(), &pb.AssignTicketsRequest{Assignments: groups})
		refused(t, codes.InvalidArgument, text, err)
		got, err := b.ticket(id)
		require.NoError(t, err)
		require.Nil(t, got.GetAssignment())
	}
	answer, err := b.AssignTickets(t.Context(), &pb.AssignTicketsRequest{})
	require.NoError(t, err)
	same(t, &pb.AssignTicketsResponse{}, answer)
}

// Pins tickets that are not assigned because another is missing.
func TestMissingTicketsAreReported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waits, matched, again := b.create(full()), b.create(full()), b.create(full())
	b.match(matched.GetId())
	b.assign("old:1", again.GetId())
	to := &pb.Assignment{Connection: "host:1", Extensions: map[string]*anypb.Any{"x": {TypeUrl: "somebody/else", Value: []byte{1}}}}
	answer, err := b.AssignTickets(t.Context(), &pb.AssignTicketsRequest{Assignments: []*pb.AssignmentGroup{
		group(to, waits.GetId(), "unknown", matched.GetId()), group(&pb.Assignment{}, again.GetId()),
	}})
	require.NoError(t, err)
	same(t, &pb.AssignTicketsResponse{Failures: []*pb.AssignmentFailure{{TicketId: "unknown", Cause: pb.AssignmentFailure_TICKET_NOT_FOUND}}}, answer)
	for _, ticket := range []*pb.Ticket{waits, matched, again} {
		got, err := b.ticket(ticket.GetId())
		require.NoError(t, err)
		ticket.Assignment = to
		if ticket == again {
			ticket.Assignment = &pb.Assignment{}
		}
		same(t, ticket, got)
	}
	require.Empty(t, b.queried(&pb.Pool{}))
}

// Pins a bound on the number of tickets in a call.
func TestAssigningAHundredThousand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(&pb.Ticket{}).GetId()
	ids := []string{id}
	for i := range 99_999 {
		ids = append(ids, fmt.Sprintf("%020d", i))
	}
	require.Len(t, b.assign("host:1", ids...).GetFailures(), 99_999)
	got, err := b.ticket(id)
	require.NoError(t, err)
	require.Equal(t, "host:1", got.GetAssignment().GetConnection())
}

// Pins a call for all or none that assigns some.
func TestAssigningAllOrNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(&pb.Ticket{}).GetId()
	ctx := with(t.Context(), "director-all-or-none", "true")
	to := &pb.Assignment{Connection: "host:1"}
	_, err := b.AssignTickets(ctx, &pb.AssignTicketsRequest{Assignments: []*pb.AssignmentGroup{group(to, id, "unknown")}})
	refused(t, codes.FailedPrecondition, "1 tickets are not there, so none was assigned", err)
	same(t, &pb.AssignTicketsResponse{Failures: []*pb.AssignmentFailure{{TicketId: "unknown", Cause: pb.AssignmentFailure_TICKET_NOT_FOUND}}},
		status.Convert(err).Details()[0].(*pb.AssignTicketsResponse))
	require.Contains(t, b.queried(&pb.Pool{}), id)
	_, err = b.AssignTickets(ctx, &pb.AssignTicketsRequest{Assignments: []*pb.AssignmentGroup{group(to, id)}})
	require.NoError(t, err)

	var many []string
	for i := range 5000 {
		many = append(many, fmt.Sprint("a ticket that is not there ", i))
	}
	_, err = b.AssignTickets(ctx, &pb.AssignTicketsRequest{Assignments: []*pb.AssignmentGroup{group(to, many...)}})
	refused(t, codes.FailedPrecondition, "5000 tickets are not there, so none was assigned", err)
}

func TestReleasing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := []string{b.create(&pb.Ticket{}).GetId(), b.create(&pb.Ticket{}).GetId(), b.create(&pb.Ticket{}).GetId()}
	for _, id := range ids {
		b.match(id)
	}
	for _, release := range [][]string{{}, {"unknown", ""}, {ids[0]}} {
		_, err := b.ReleaseTickets(t.Context(), &pb.ReleaseTicketsRequest{TicketIds: release})
		require.NoError(t, err)
	}
	require.Len(t, b.queried(&pb.Pool{}), 1)
	_, err := b.ReleaseAllTickets(t.Context(), &pb.ReleaseAllTicketsRequest{})
	require.NoError(t, err)
	require.Len(t, b.queried(&pb.Pool{}), 3)
}
