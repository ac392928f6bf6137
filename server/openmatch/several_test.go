package openmatch_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// createSome creates tickets with the tag "some", and returns their ids.
func (b *bundle) createSome(n int) (ids []string) {
	for range n {
		ids = append(ids, b.create(&pb.Ticket{SearchFields: &pb.SearchFields{Tags: []string{"some"}}}).GetId())
	}
	return ids
}

func idsOf(tickets []*pb.Ticket) []string {
	ids := []string{}
	for _, t := range tickets {
		ids = append(ids, t.GetId())
	}
	return ids
}

// The tickets come in the order of the request, each once, with the assignments of those that have one.
func TestGetTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.createSome(3)
	b.assign("server:1", ids[1])
	got, err := b.GetTickets(t.Context(), &pb.GetTicketsRequest{TicketIds: []string{ids[2], "unknown", ids[1], ids[2], "", "a\x00b", ids[0]}})
	require.NoError(t, err)
	require.Equal(t, []string{ids[2], ids[1], ids[0]}, idsOf(got.GetTickets()))
	require.Equal(t, "server:1", got.GetTickets()[1].GetAssignment().GetConnection())
	for i, one := range got.GetTickets() {
		alone, err := b.ticket(idsOf(got.GetTickets())[i])
		require.NoError(t, err)
		same(t, alone, one)
	}
	none, err := b.GetTickets(t.Context(), &pb.GetTicketsRequest{})
	require.NoError(t, err)
	require.Empty(t, none.GetTickets())
}

// Pins a call whose answer takes all the memory of a replica, and a share of it that is not given back.
func TestGetTicketsIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.QueryMemory = 1 }) // one share
	large := &pb.Ticket{PersistentField: map[string]*anypb.Any{"x": {TypeUrl: "a/b", Value: []byte(strings.Repeat("x", 60<<10))}}}
	var ids []string
	for range 300 {
		ids = append(ids, b.create(large).GetId())
	}
	for range 2 {
		_, err := b.GetTickets(t.Context(), &pb.GetTicketsRequest{TicketIds: ids})
		refused(t, codes.ResourceExhausted, "the tickets have more than 16777216 bytes: ask for fewer", err)
		got, err := b.GetTickets(t.Context(), &pb.GetTicketsRequest{TicketIds: ids[:65]})
		require.NoError(t, err)
		require.Equal(t, ids[:65], idsOf(got.GetTickets()))
	}
}

// A backfill has the tickets that were matched into it until it assigns them.
func TestGetBackfillTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tickets := func(id string) (*pb.BackfillTickets, error) {
		return b.GetBackfillTickets(t.Context(), &pb.GetBackfillRequest{BackfillId: id})
	}
	_, err := tickets("x")
	refused(t, codes.NotFound, "Backfill id: x not found", err)
	id, ticket := b.createBackfill(&pb.Backfill{}).GetId(), b.create(&pb.Ticket{})
	got, err := tickets(id)
	require.NoError(t, err)
	same(t, &pb.BackfillTickets{BackfillId: id}, got)
	b.into(id, ticket.GetId())
	got, err = tickets(id)
	require.NoError(t, err)
	same(t, &pb.BackfillTickets{BackfillId: id, Tickets: []*pb.Ticket{ticket}}, got)
	b.store.Exec("UPDATE backfills SET acked_at = acked_at - interval '1 hour'") // expired, and not yet deleted
	got, err = tickets(id)
	require.NoError(t, err)
	require.Len(t, got.GetTickets(), 1)
	b.store.Exec("UPDATE backfills SET acked_at = now()")
	_, err = b.acknowledge(id, "host:1")
	require.NoError(t, err)
	got, err = tickets(id)
	require.NoError(t, err)
	require.Empty(t, got.GetTickets())
}

// Tickets in any state are deleted before the call returns, and watchers of them end. Unknown ids are ignored.
func TestDeleteTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.createSome(5)
	b.match(ids[1])
	b.assign("server:1", ids[2])
	w := b.watch(ids[2])
	w.hears("server:1")
	_, err := b.DeleteTickets(t.Context(), &pb.DeleteTicketsRequest{TicketIds: append(slices.Clone(ids[:4]), "unknown", ids[0], "a\x00b")})
	require.NoError(t, err)
	for _, id := range ids[:4] {
		_, err := b.ticket(id)
		refused(t, codes.NotFound, "Ticket id: "+id+" not found", err)
	}
	require.Contains(t, b.queried(&pb.Pool{}), ids[4])
	require.Len(t, b.queried(&pb.Pool{}), 1)
	_, err = b.DeleteTickets(t.Context(), &pb.DeleteTicketsRequest{})
	require.NoError(t, err)
}

// Tickets in a match count, and those that are assigned or deleted do not.
func TestGetIndexedTicketCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	count := func() int32 {
		got, err := b.GetIndexedTicketCount(t.Context(), &pb.GetIndexedTicketCountRequest{})
		require.NoError(t, err)
		return got.GetCount()
	}
	require.Zero(t, count())
	ids := b.createSome(4)
	b.match(ids[0])
	require.EqualValues(t, 4, count())
	b.assign("server:1", ids[1])
	require.EqualValues(t, 3, count())
	_, err := b.DeleteTickets(t.Context(), &pb.DeleteTicketsRequest{TicketIds: ids})
	require.NoError(t, err)
	require.Zero(t, count())
}

// Pins a limit that bounds a page and not the answer, or only one of the two ways in which pools are read.
func TestQueryTicketsUpToALimit(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.PageSize = 2 })
	b.createSome(5)
	for _, pool := range []*pb.Pool{{}, {TagPresentFilters: []*pb.TagPresentFilter{{Tag: "some"}}}} {
		for limit, want := range map[int32]int{-1: 5, 0: 5, 1: 1, 3: 3, 5: 5, 9: 5} {
			stream, err := b.QueryTickets(t.Context(), &pb.QueryTicketsRequest{Pool: pool, Limit: limit})
			require.NoError(t, err)
			found := 0
			for page, err := stream.Recv(); err == nil; page, err = stream.Recv() {
				found += len(page.GetTickets())
			}
			require.Equal(t, want, found, "limit %d of %v", limit, pool)
		}
	}
}

// Pins a time of its own that expires no backfill, or expires it with the marks of tickets.
func TestBackfillsHaveATimeOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.BackfillFor = 10 * time.Minute })
	id := b.createBackfill(&pb.Backfill{}).GetId()
	b.unheard(id, "7 minutes")
	_, err := b.acknowledge(id, "host:1")
	require.NoError(t, err)
	b.unheard(id, "9 minutes")
	_, err = b.acknowledge(id, "host:1")
	refused(t, codes.FailedPrecondition, "can not acknowledge an expired backfill, id: "+id, err)
}

// Pins a path of the fork that another one hides: tickets/count is no ticket.
func TestSeveralTicketsOverREST(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids, backfill := b.createSome(2), b.createBackfill(&pb.Backfill{}).GetId()
	require.JSONEq(t, `{"count": 2}`, b.rest(http.MethodGet, frontendPath+"/tickets/count", "").Body)
	got := object(t, b.rest(http.MethodPost, frontendPath+"/tickets/batch_get", `{"ticket_ids": ["`+ids[1]+`", "`+ids[0]+`"]}`).Body)
	require.Equal(t, ids[1], got["tickets"].([]any)[0].(map[string]any)["id"])
	require.JSONEq(t, `{"backfill_id": "`+backfill+`"}`, b.rest(http.MethodGet, frontendPath+"/backfills/"+backfill+"/tickets", "").Body)
	require.JSONEq(t, `{}`, b.rest(http.MethodDelete, frontendPath+"/tickets?ticket_ids="+ids[0]+"&ticket_ids="+ids[1], "").Body)
	require.JSONEq(t, `{}`, b.rest(http.MethodGet, frontendPath+"/tickets/count", "").Body)
	limited := b.rest(http.MethodPost, queryPath+"/tickets:query", `{"pool": {}, "limit": 1}`)
	require.Equal(t, http.StatusOK, limited.Status)
}
