package openmatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/must"
)

func TestPoolsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad := &timestamppb.Timestamp{Nanos: -1}
	for text, pool := range map[string]*pb.Pool{
		".pool is required":             nil,
		".invalid created_before value": {CreatedBefore: bad, CreatedAfter: bad},
		".invalid created_after value":  {CreatedAfter: bad},
	} {
		tickets, err := b.QueryTickets(t.Context(), &pb.QueryTicketsRequest{Pool: pool})
		require.NoError(t, err)
		_, err = tickets.Recv()
		refused(t, codes.InvalidArgument, text, err)
		ids, err := b.QueryTicketIds(t.Context(), &pb.QueryTicketIdsRequest{Pool: pool})
		require.NoError(t, err)
		_, err = ids.Recv()
		refused(t, codes.InvalidArgument, text, err)
		backfills, err := b.QueryBackfills(t.Context(), &pb.QueryBackfillsRequest{Pool: pool})
		require.NoError(t, err)
		_, err = backfills.Recv()
		refused(t, codes.InvalidArgument, text, err)
	}
}

// Pins filters that are lost on the way to the store, or whose bounds are swapped.
func TestFiltersReachTheStore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fields := func(mmr float64, mode string, tags ...string) *pb.SearchFields {
		return &pb.SearchFields{DoubleArgs: map[string]float64{"mmr": mmr}, StringArgs: map[string]string{"mode": mode}, Tags: tags}
	}
	ids, names := map[string]string{}, map[string]string{}
	created := map[string]*timestamppb.Timestamp{}
	for i, f := range []*pb.SearchFields{fields(10, "duel", "a"), fields(20, "duel", "a", "b"), fields(30, "race", "b"), fields(math.Inf(1), "Duel"), nil} {
		name := fmt.Sprint(i)
		ticket := b.create(&pb.Ticket{SearchFields: f})
		ids[name], names[ticket.GetId()], created[name] = ticket.GetId(), name, ticket.GetCreateTime()
		_, err := b.CreateBackfill(t.Context(), &pb.CreateBackfillRequest{Backfill: &pb.Backfill{
			SearchFields: f, Extensions: map[string]*anypb.Any{name: {TypeUrl: "a/b"}},
		}})
		require.NoError(t, err)
	}
	mmr := func(least, most float64, exclude pb.DoubleRangeFilter_Exclude) *pb.Pool {
		return &pb.Pool{DoubleRangeFilters: []*pb.DoubleRangeFilter{{DoubleArg: "mmr", Min: least, Max: most, Exclude: exclude}}}
	}
	for want, pool := range map[string]*pb.Pool{
		"0 1 2 3 4": {},
		"1 2":       mmr(20, 30, pb.DoubleRangeFilter_NONE),
		"2":         mmr(20, 30, pb.DoubleRangeFilter_MIN),
		"1":         mmr(20, 30, pb.DoubleRangeFilter_MAX),
		"0 1 2 3":   mmr(0, 0, 9),
		"3":         mmr(31, math.Inf(1), pb.DoubleRangeFilter_NONE),
		"":          mmr(math.NaN(), math.NaN(), pb.DoubleRangeFilter_NONE),
		"0 1":       {StringEqualsFilters: []*pb.StringEqualsFilter{{StringArg: "mode", Value: "duel"}}},
		"1 ":        {TagPresentFilters: []*pb.TagPresentFilter{{Tag: "a"}, {Tag: "b"}}},
	} {
		got := slices.Collect(maps.Keys(b.queried(pool)))
		for i, id := range got {
			got[i] = names[id]
		}
		slices.Sort(got)
		require.Equal(t, strings.TrimSpace(want), strings.Join(got, " "), pool)
		require.ElementsMatch(t, got, b.backfills(pool), pool)

		pages, err := functionstest.ReceiveAll(b.QueryTicketIds(t.Context(), &pb.QueryTicketIdsRequest{Pool: pool}))
		require.NoError(t, err)
		var found []string
		for _, page := range pages {
			for _, id := range page.GetIds() {
				found = append(found, names[id])
			}
		}
		require.ElementsMatch(t, got, found, pool)
	}
	strictly := &pb.Pool{CreatedAfter: created["0"], CreatedBefore: created["2"]}
	require.Equal(t, []string{ids["1"]}, slices.Collect(maps.Keys(b.queried(strictly))))
}

// backfills returns the names, which are in the extensions, of the backfills in a pool.
func (b *bundle) backfills(pool *pb.Pool) (names []string) {
	request := &pb.QueryBackfillsRequest{Pool: pool}
	for _, page := range must.Get(functionstest.ReceiveAll(b.QueryBackfills(b.t.Context(), request)))(b.t) {
		for _, f := range page.GetBackfills() {
			names = append(names, slices.Collect(maps.Keys(f.GetExtensions()))...)
		}
	}
	return names
}

// Pins an answer that a client refuses: ten thousand large tickets in one message, or a page above PageSize.
func TestAnswersComeInPages(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.PageSize = 100 })
	large := strings.Repeat("x", 60_000)
	want := map[string]bool{}
	for i := range 250 {
		ticket := &pb.Ticket{SearchFields: &pb.SearchFields{Tags: []string{"small"}}}
		if i < 120 {
			ticket.Extensions = map[string]*anypb.Any{"x": {TypeUrl: large}}
		}
		want[b.create(ticket).GetId()] = true
	}
	// by a client of the default limit, 4 MiB
	pages, err := functionstest.ReceiveAll(b.QueryTickets(t.Context(), &pb.QueryTicketsRequest{Pool: &pb.Pool{}}))
	require.NoError(t, err)
	got := map[string]bool{}
	for _, page := range pages {
		require.LessOrEqual(t, len(page.GetTickets()), 100)
		require.LessOrEqual(t, proto.Size(page), 3_500<<10)
		for _, ticket := range page.GetTickets() {
			got[ticket.GetId()] = true
		}
	}
	require.Equal(t, want, got)
	require.Len(t, b.queried(&pb.Pool{TagPresentFilters: []*pb.TagPresentFilter{{Tag: "small"}}}), 250)
}

// Pins a message without tickets.
func TestAnEmptyAnswerHasNoMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	messages, err := functionstest.ReceiveAll(b.QueryTickets(t.Context(), &pb.QueryTicketsRequest{Pool: &pb.Pool{}}))
	require.NoError(t, err)
	require.Empty(t, messages)
}

// Pins unread query answers of unbounded size. Other queries get an error at the bound; ended queries free their
// memory.
func TestTheMemoryOfQueriesIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.QueryMemory = 24 << 20 })
	want := map[string]bool{}
	for i := range 400 {
		want[b.create(&pb.Ticket{Extensions: map[string]*anypb.Any{"x": {TypeUrl: fmt.Sprint(i, strings.Repeat("x", 60_000))}}}).GetId()] = true
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var refusals int
	for range 6 { // of 24 MB each
		deaf := b.dial(grpc.WithStaticStreamWindowSize(64 << 10))
		stream, err := pb.NewQueryServiceClient(deaf).QueryTickets(ctx, &pb.QueryTicketsRequest{Pool: &pb.Pool{}})
		require.NoError(t, err)
		if _, err = stream.Recv(); err != nil {
			refused(t, codes.ResourceExhausted, "the answers of other queries take all the memory that this replica has for them: "+
				"read answers to the end or cancel them, and call again, another replica may have room", err)
			refusals++
		}
	}
	require.Positive(t, refusals)
	require.Less(t, refusals, 6)
	cancel()
	require.Len(t, b.queried(&pb.Pool{}), len(want))
}

// Pins a query over REST whose decoded pages take many times their size, and one that loses tickets between pages.
func TestQueriesOverRESTComeInSmallPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 100 {
		b.create(&pb.Ticket{SearchFields: &pb.SearchFields{Tags: []string{fmt.Sprint(i, strings.Repeat("x", 10_000))}}})
	}
	got := b.rest(http.MethodPost, "/v1/queryservice/tickets:query", `{"pool":{}}`)
	require.Equal(t, http.StatusOK, got.Status)
	ids := map[string]bool{}
	for line := range strings.Lines(got.Body) {
		require.Less(t, len(line), 256<<10)
		var page struct {
			Result struct {
				Tickets []struct{ ID string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &page))
		for _, ticket := range page.Result.Tickets {
			ids[ticket.ID] = true
		}
	}
	require.Len(t, ids, 100)
}
