package openmatch_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
)

func (b *bundle) tickets() pb.TicketsClient { return pb.NewTicketsClient(b.conn) }

// An update replaces the fields that pools filter by. The ticket keeps its id and its creation time.
func TestUpdateTicket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	created := b.create(&pb.Ticket{SearchFields: &pb.SearchFields{Tags: []string{"old"}},
		Extensions: map[string]*anypb.Any{"old": functionstest.UnknownAny()}})
	changed := &pb.Ticket{Id: created.GetId(), SearchFields: &pb.SearchFields{Tags: []string{"new"}},
		PersistentField: map[string]*anypb.Any{"new": functionstest.UnknownAny()}}
	expected := proto.CloneOf(changed)
	expected.CreateTime = created.GetCreateTime()
	updated, err := b.tickets().UpdateTicket(t.Context(), &pb.UpdateTicketRequest{Ticket: changed})
	require.NoError(t, err)
	same(t, expected, updated)
	got, err := b.ticket(created.GetId())
	require.NoError(t, err)
	same(t, expected, got)
	tagged := func(tag string) *pb.Pool { return &pb.Pool{TagPresentFilters: []*pb.TagPresentFilter{{Tag: tag}}} }
	require.Empty(t, b.queried(tagged("old")))
	require.Len(t, b.queried(tagged("new")), 1)
}

func TestUpdateTicketRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	update := func(ticket *pb.Ticket) error {
		_, err := b.tickets().UpdateTicket(t.Context(), &pb.UpdateTicketRequest{Ticket: ticket})
		return err
	}
	refused(t, codes.InvalidArgument, ".ticket is required", update(nil))
	refused(t, codes.InvalidArgument, "ticket ID should exist", update(&pb.Ticket{}))
	refused(t, codes.InvalidArgument, "tickets cannot be updated with an assignment", update(&pb.Ticket{Id: "x", Assignment: &pb.Assignment{}}))
	refused(t, codes.NotFound, "Ticket id: x not found", update(&pb.Ticket{Id: "x"}))
	id := b.create(&pb.Ticket{}).GetId()
	b.match(id)
	refused(t, codes.FailedPrecondition, "the ticket is in a match", update(&pb.Ticket{Id: id}))
	b.assign("server:1", id)
	refused(t, codes.FailedPrecondition, "the ticket is assigned", update(&pb.Ticket{Id: id}))
}

// An active ticket is deleted; for a matched one the answer names the match, for an assigned one the assignment.
func TestCancelTicket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cancel := func(id string) (*pb.CancelTicketResponse, error) {
		return b.tickets().CancelTicket(t.Context(), &pb.CancelTicketRequest{TicketId: id})
	}
	id := b.create(&pb.Ticket{}).GetId()
	answer, err := cancel(id)
	require.NoError(t, err)
	same(t, &pb.CancelTicketResponse{Cancelled: true}, answer)
	_, err = cancel(id)
	refused(t, codes.NotFound, "Ticket id: "+id+" not found", err)

	ticket := b.create(&pb.Ticket{})
	matches, err := b.fetch(proposing(t, &pb.Match{MatchId: "duel 7", Tickets: []*pb.Ticket{ticket}}))
	require.NoError(t, err)
	require.Len(t, matches, 1)
	answer, err = cancel(ticket.GetId())
	require.NoError(t, err)
	same(t, &pb.CancelTicketResponse{MatchId: "duel 7"}, answer)

	b.assign("server:1", ticket.GetId())
	answer, err = cancel(ticket.GetId())
	require.NoError(t, err)
	same(t, &pb.CancelTicketResponse{Assignment: &pb.Assignment{Connection: "server:1"}}, answer)
}

// A ticket that is matched and canceled at the same time, on two replicas, is either matched or canceled, and both
// answers agree.
func TestCancelTicketRacesWithAMatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := replica(t, b.store.URL)
	for range 20 {
		ticket := b.create(&pb.Ticket{})
		var race sync.WaitGroup
		var matches []*pb.Match
		var answer *pb.CancelTicketResponse
		var fetched, cancelled error
		at := proposing(t, &pb.Match{MatchId: "m", Tickets: []*pb.Ticket{ticket}})
		race.Go(func() { matches, fetched = b.fetch(at) })
		race.Go(func() {
			answer, cancelled = other.tickets().CancelTicket(t.Context(), &pb.CancelTicketRequest{TicketId: ticket.GetId()})
		})
		race.Wait()
		require.NoError(t, fetched)
		require.NoError(t, cancelled)
		require.Equal(t, len(matches) == 0, answer.GetCancelled())
		require.Equal(t, len(matches) == 1, answer.GetMatchId() == "m")
	}
}

func TestCountPool(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		b.create(&pb.Ticket{SearchFields: &pb.SearchFields{DoubleArgs: map[string]float64{"mmr": float64(i)}}})
	}
	b.match(b.create(&pb.Ticket{}).GetId())
	count := func(pool *pb.Pool) int64 {
		answer, err := b.tickets().CountPool(t.Context(), &pb.CountPoolRequest{Pool: pool})
		require.NoError(t, err)
		return answer.GetTickets()
	}
	require.EqualValues(t, 5, count(&pb.Pool{}))
	require.EqualValues(t, 2, count(&pb.Pool{DoubleRangeFilters: []*pb.DoubleRangeFilter{{DoubleArg: "mmr", Min: 1, Max: 2}}}))
	_, err := b.tickets().CountPool(t.Context(), &pb.CountPoolRequest{})
	refused(t, codes.InvalidArgument, ".pool is required", err)
}

// The extra paths are below Open Match's prefixes, and shadow none of its paths.
func TestExtrasOverREST(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.create(&pb.Ticket{}).GetId()
	answer := b.rest(http.MethodPatch, "/v1/frontendservice/tickets", `{"ticket":{"id":"`+id+`","search_fields":{"tags":["new"]}}}`)
	require.Equal(t, http.StatusOK, answer.Status, answer.Body)
	require.Contains(t, answer.Body, `"tags"`)
	answer = b.rest(http.MethodPost, "/v1/queryservice/tickets:count", `{"pool":{}}`)
	require.JSONEq(t, `{"tickets":"1"}`, answer.Body)
	answer = b.rest(http.MethodPost, "/v1/frontendservice/tickets/"+id+":cancel", `{}`)
	require.JSONEq(t, `{"cancelled":true}`, answer.Body)
	answer = b.rest(http.MethodGet, "/v1/frontendservice/tickets/"+id, "")
	require.Equal(t, http.StatusNotFound, answer.Status)
}
