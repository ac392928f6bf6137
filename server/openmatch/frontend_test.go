package openmatch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// full is a ticket with all fields that a client may set, an Any of an unknown type, and a field of a later release.
func full() *pb.Ticket {
	stranger := &anypb.Any{TypeUrl: "type.googleapis.com/somebody.elses.Type", Value: []byte{8, 1, 0xff}}
	t := &pb.Ticket{
		SearchFields: &pb.SearchFields{
			DoubleArgs: map[string]float64{"mmr": 1500.25, "level": 3}, StringArgs: map[string]string{"mode": "duel"}, Tags: []string{"beta", "eu"},
		},
		Extensions:      map[string]*anypb.Any{"x": stranger},
		PersistentField: map[string]*anypb.Any{"p": stranger},
	}
	later := protowire.AppendString(protowire.AppendTag(nil, 100, protowire.BytesType), "of a later release")
	t.ProtoReflect().SetUnknown(later)
	t.GetSearchFields().ProtoReflect().SetUnknown(later)
	return t
}

// Pins a ticket that is returned changed: a time cut to microseconds, a field of a later release lost, an Any of an
// unknown type refused. All calls return the same.
func TestATicketIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	given := full()
	before := time.Now()
	created := b.create(proto.CloneOf(given))
	require.Regexp(t, "^[0-9a-v]{20}$", created.GetId())
	require.WithinDuration(t, before, created.GetCreateTime().AsTime(), 10*time.Second)

	want := proto.CloneOf(given)
	want.Id, want.CreateTime = created.GetId(), created.GetCreateTime()
	same(t, want, created)
	got, err := b.ticket(created.GetId())
	require.NoError(t, err)
	same(t, want, got)
	same(t, want, b.queried(&pb.Pool{})[created.GetId()])

	b.assign("host:1", created.GetId())
	want.Assignment = &pb.Assignment{Connection: "host:1"}
	got, err = b.ticket(created.GetId())
	require.NoError(t, err)
	same(t, want, got)
}

// Pins creation times cut to whole microseconds, as Postgres stores them.
func TestTimesHaveNanoseconds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 20 {
		if b.create(&pb.Ticket{}).GetCreateTime().GetNanos()%1000 != 0 {
			return
		}
	}
	require.Fail(t, "no time has nanoseconds")
}

// Pins an id that a client chose.
func TestAClientsIdIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	created := b.create(&pb.Ticket{Id: "mine"})
	require.NotEqual(t, "mine", created.GetId())
	_, err := b.ticket("mine")
	refused(t, codes.NotFound, "Ticket id: mine not found", err)
}

func TestTicketsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxTicket = 1000 })
	for text, ticket := range map[string]*pb.Ticket{
		".ticket is required":                                            nil,
		"tickets cannot be created with an assignment":                   {Assignment: &pb.Assignment{}},
		"tickets cannot be created with create time set":                 {CreateTime: timestamppb.Now()},
		"the ticket has 1002 bytes, more than the 1000 that are allowed": {SearchFields: &pb.SearchFields{Tags: []string{strings.Repeat("x", 996)}}},
	} {
		_, err := b.CreateTicket(t.Context(), &pb.CreateTicketRequest{Ticket: ticket})
		refused(t, codes.InvalidArgument, text, err)
	}
	require.Empty(t, b.queried(&pb.Pool{}))
}

// Pins ids that make a statement fail, or that get another answer than not found.
func TestUnknownIds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gone := b.create(&pb.Ticket{}).GetId()
	_, err := b.DeleteTicket(t.Context(), &pb.DeleteTicketRequest{TicketId: gone})
	require.NoError(t, err)
	for _, id := range []string{"", "x", "a\x00b", gone, strings.Repeat("0", 20), strings.Repeat("é", 3000)} {
		_, err := b.ticket(id)
		refused(t, codes.NotFound, "Ticket id: "+id+" not found", err)
		_, err = b.DeleteTicket(t.Context(), &pb.DeleteTicketRequest{TicketId: id})
		require.NoError(t, err)
		stream, err := b.WatchAssignments(t.Context(), &pb.WatchAssignmentsRequest{TicketId: id})
		require.NoError(t, err)
		_, err = stream.Recv()
		refused(t, codes.NotFound, "Ticket id: "+id+" not found", err)
		require.Len(t, b.assign("host:1", id).GetFailures(), 1)
	}
}

// Pins a query that misses an earlier write on another replica.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := replica(t, b.store.URL)
	for range 100 {
		id := b.create(&pb.Ticket{}).GetId()
		require.Contains(t, other.queried(&pb.Pool{}), id)
		b.match(id)
		require.NotContains(t, other.queried(&pb.Pool{}), id)
		_, err := b.ReleaseTickets(t.Context(), &pb.ReleaseTicketsRequest{TicketIds: []string{id, "unknown"}})
		require.NoError(t, err)
		require.Contains(t, other.queried(&pb.Pool{}), id)
		b.assign("host:1", id)
		require.NotContains(t, other.queried(&pb.Pool{}), id)
		got, err := other.ticket(id)
		require.NoError(t, err)
		require.Equal(t, "host:1", got.GetAssignment().GetConnection())
		_, err = b.DeleteTicket(t.Context(), &pb.DeleteTicketRequest{TicketId: id})
		require.NoError(t, err)
		_, err = other.ticket(id)
		require.Equal(t, codes.NotFound, status.Code(err))
	}
}

// Pins a deletion that is answered before it is done, in each state of a ticket.
func TestDeletionIsDone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := replica(t, b.store.URL)
	for name, change := range map[string]func(id string){
		"waits": func(string) {}, "matched": b.match, "assigned": func(id string) { b.assign("host:1", id) },
	} {
		id := b.create(&pb.Ticket{}).GetId()
		change(id)
		for range 2 { // the second finds nothing, which is fine
			_, err := b.DeleteTicket(t.Context(), &pb.DeleteTicketRequest{TicketId: id})
			require.NoError(t, err, name)
		}
		_, err := other.ticket(id)
		refused(t, codes.NotFound, "Ticket id: "+id+" not found", err)
		require.Empty(t, other.queried(&pb.Pool{}))
	}
}

// Pins an assigned ticket that is deleted too late or too early.
func TestAssignedTicketsEndOnTime(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.AssignedFor = 500 * time.Millisecond })
	id := b.create(&pb.Ticket{}).GetId()
	b.assign("host:1", id)
	_, err := b.ticket(id)
	require.NoError(t, err)
	b.store.Exec("UPDATE settled_tickets SET settled_at = clock_timestamp() - interval '300 milliseconds'")
	b.assign("host:2", id) // and its time begins anew
	b.store.Exec("UPDATE settled_tickets SET settled_at = settled_at - interval '400 milliseconds'")
	_, err = b.ticket(id)
	require.NoError(t, err)
	b.store.Exec("UPDATE settled_tickets SET settled_at = settled_at - interval '100 milliseconds'")
	_, err = b.ticket(id)
	refused(t, codes.NotFound, "Ticket id: "+id+" not found", err)
}

// Pins a matched ticket that is not in queries again until a sweeper has run.
func TestMatchedTicketsComeBackOnTime(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.PendingFor = time.Minute })
	id := b.create(&pb.Ticket{}).GetId()
	b.match(id)
	b.store.Exec("UPDATE tickets SET pending_at = clock_timestamp() - interval '59 seconds'")
	require.Empty(t, b.queried(&pb.Pool{}))
	b.store.Exec("UPDATE tickets SET pending_at = clock_timestamp() - interval '1 minute'")
	require.Contains(t, b.queried(&pb.Pool{}), id)
}

// Pins a creation that fails because of another one in its batch: a retry would create a second ticket.
func TestManyCreateAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mu sync.Mutex
	ids := map[string]bool{}
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			created, err := b.CreateTicket(t.Context(), &pb.CreateTicketRequest{Ticket: full()})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[created.GetId()] = true
		})
	}
	all.Wait()
	require.Len(t, ids, 200)
	require.Len(t, b.queried(&pb.Pool{}), 200)
}

func with(ctx context.Context, pairs ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// Pins a misspelt option that is ignored, and tickets that outlive their ttl.
func TestTicketsWithATTL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const ttl, alive = "director-ticket-ttl", "director-keep-alive"
	for _, bad := range [][]string{{ttl, "90"}, {ttl, "0s"}, {ttl, "-1m"}, {ttl, "1000h"}, {alive, "true"}, {alive, "yes!", ttl, "1m"}} {
		_, err := b.CreateTicket(with(t.Context(), bad...), &pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
		require.Equal(t, codes.InvalidArgument, status.Code(err), bad)
		require.Contains(t, err.Error(), "director-")
	}
	created, err := b.CreateTicket(with(t.Context(), ttl, "1m"), &pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
	require.NoError(t, err)
	require.Contains(t, b.queried(&pb.Pool{}), created.GetId())
	b.store.Exec("UPDATE tickets SET expires_at = expires_at - interval '1 minute'")
	require.Empty(t, b.queried(&pb.Pool{}))
	_, err = b.ticket(created.GetId())
	refused(t, codes.NotFound, "Ticket id: "+created.GetId()+" not found", err)
}

// Pins a player with two live tickets, and creations that fail because of another player.
func TestOneLiveTicketAPlayer(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.PlayerArg = "player" })
	of := func(player string) *pb.CreateTicketRequest {
		return &pb.CreateTicketRequest{Ticket: &pb.Ticket{SearchFields: &pb.SearchFields{StringArgs: map[string]string{"player": player}}}}
	}
	first, err := b.CreateTicket(t.Context(), of("anna"))
	require.NoError(t, err)
	_, err = b.CreateTicket(t.Context(), of("anna"))
	require.Equal(t, codes.AlreadyExists, status.Code(err), "%v", err)
	for _, other := range []string{"bob", "carol", "", ""} {
		_, err = b.CreateTicket(t.Context(), of(other))
		require.NoError(t, err)
	}
	for _, bad := range []string{"a\x00b", strings.Repeat("x", 513)} {
		_, err = b.CreateTicket(t.Context(), of(bad))
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	}
	b.assign("host:1", first.GetId())
	_, err = b.CreateTicket(t.Context(), of("anna"))
	require.NoError(t, err)
}

// Pins two regions in one database that see each other's tickets.
func TestRegionsAreApart(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	b, other := replica(t, url), replica(t, url, func(c *config) { c.Universe = "elsewhere" })
	id := b.create(&pb.Ticket{}).GetId()
	require.Empty(t, other.queried(&pb.Pool{}))
	_, err := other.ticket(id)
	require.Equal(t, codes.NotFound, status.Code(err))
	require.Len(t, other.assign("host:1", id).GetFailures(), 1)
	_, err = other.ReleaseAllTickets(t.Context(), &pb.ReleaseAllTicketsRequest{})
	require.NoError(t, err)
}

// Pins a call that hangs, or an error that reveals the address of the database, during an outage.
func TestWithoutADatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.store.Pool().Close()
	_, err := b.CreateTicket(t.Context(), &pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.NotContains(t, err.Error(), "pool")
	require.NotContains(t, fmt.Sprint(status.Convert(err).Details()), "pool")
}
