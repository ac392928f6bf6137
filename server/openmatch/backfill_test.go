package openmatch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/must"
)

func (b *bundle) createBackfill(f *pb.Backfill) *pb.Backfill {
	return must.Get(b.CreateBackfill(b.t.Context(), &pb.CreateBackfillRequest{Backfill: f}))(b.t)
}

func (b *bundle) backfill(id string) (*pb.Backfill, error) {
	return b.GetBackfill(b.t.Context(), &pb.GetBackfillRequest{BackfillId: id})
}

func (b *bundle) acknowledge(id, connection string) (*pb.AcknowledgeBackfillResponse, error) {
	return b.AcknowledgeBackfill(b.t.Context(), &pb.AcknowledgeBackfillRequest{BackfillId: id, Assignment: &pb.Assignment{Connection: connection}})
}

// into puts a ticket into a match with a backfill, as FetchMatches does.
func (b *bundle) into(backfill, ticket string) {
	b.match(ticket)
	b.store.Exec("INSERT INTO backfill_tickets (region, ticket_id, backfill_id) VALUES ('global', $1, $2)", ticket, backfill)
}

// unheard lets the last word of a backfill be so long ago.
func (b *bundle) unheard(id, ago string) {
	b.store.Exec("UPDATE backfills SET acked_at = clock_timestamp() - $2::text::interval WHERE id = $1", id, ago)
}

func TestBackfillsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.CreateBackfill(t.Context(), &pb.CreateBackfillRequest{})
	refused(t, codes.InvalidArgument, ".backfill is required", err)
	_, err = b.CreateBackfill(t.Context(), &pb.CreateBackfillRequest{Backfill: &pb.Backfill{CreateTime: timestamppb.Now()}})
	refused(t, codes.InvalidArgument, "backfills cannot be created with create time set", err)
	_, err = b.UpdateBackfill(t.Context(), &pb.UpdateBackfillRequest{})
	refused(t, codes.InvalidArgument, ".backfill is required", err)
	_, err = b.UpdateBackfill(t.Context(), &pb.UpdateBackfillRequest{Backfill: &pb.Backfill{}})
	refused(t, codes.InvalidArgument, "backfill ID should exist", err)
	_, err = b.AcknowledgeBackfill(t.Context(), &pb.AcknowledgeBackfillRequest{})
	refused(t, codes.InvalidArgument, ".BackfillId is required", err)
	_, err = b.AcknowledgeBackfill(t.Context(), &pb.AcknowledgeBackfillRequest{BackfillId: "x"})
	refused(t, codes.InvalidArgument, ".Assignment is required", err)
	_, err = b.acknowledge("x", strings.Repeat("x", 1<<16))
	refused(t, codes.InvalidArgument, "the assignment has 65540 bytes, more than the 65536 that are allowed", err)
	_, err = b.DeleteBackfill(t.Context(), &pb.DeleteBackfillRequest{})
	refused(t, codes.InvalidArgument, ".BackfillId is required", err)

	ticket := b.create(&pb.Ticket{}).GetId() // an id of ours, and of another kind
	for _, id := range []string{"x", "a\x00b", ticket} {
		text := "Backfill id: " + id + " not found"
		_, err = b.backfill(id)
		refused(t, codes.NotFound, text, err)
		_, err = b.UpdateBackfill(t.Context(), &pb.UpdateBackfillRequest{Backfill: &pb.Backfill{Id: id}})
		refused(t, codes.NotFound, text, err)
		_, err = b.acknowledge(id, "host:1")
		refused(t, codes.NotFound, text, err)
		_, err = b.DeleteBackfill(t.Context(), &pb.DeleteBackfillRequest{BackfillId: id})
		require.NoError(t, err)
	}
	_, err = b.backfill("")
	refused(t, codes.NotFound, "Backfill id:  not found", err)
}

// Pins a backfill's generations, and the fields that a game server may and may not set.
func TestABackfillsLife(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := replica(t, b.store.URL)
	persistent := map[string]*anypb.Any{"p": {TypeUrl: "somebody.elses/Type", Value: []byte{1}}}
	given := &pb.Backfill{Id: "mine", Generation: 7, SearchFields: full().GetSearchFields(), PersistentField: persistent}
	created := b.createBackfill(given)
	require.Regexp(t, "^[0-9a-v]{20}$", created.GetId())
	want := proto.CloneOf(given)
	want.Id, want.CreateTime, want.Generation = created.GetId(), created.GetCreateTime(), 1
	same(t, want, created)
	got, err := other.backfill(created.GetId())
	require.NoError(t, err)
	same(t, want, got)

	updated, err := other.UpdateBackfill(t.Context(), &pb.UpdateBackfillRequest{Backfill: &pb.Backfill{
		Id: created.GetId(), Generation: 99, CreateTime: timestamppb.Now(), Extensions: persistent,
	}})
	require.NoError(t, err)
	want = &pb.Backfill{Id: created.GetId(), CreateTime: created.GetCreateTime(), Generation: 2, Extensions: persistent}
	same(t, want, updated)
	got, err = b.backfill(created.GetId())
	require.NoError(t, err)
	same(t, want, got)

	_, err = b.DeleteBackfill(t.Context(), &pb.DeleteBackfillRequest{BackfillId: created.GetId()})
	require.NoError(t, err)
	_, err = other.backfill(created.GetId())
	refused(t, codes.NotFound, "Backfill id: "+created.GetId()+" not found", err)
}

// Pins tickets of a backfill that are assigned to another server, twice, or not at all.
func TestAcknowledging(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.createBackfill(&pb.Backfill{}).GetId()
	here, gone, bystander := b.create(full()), b.create(&pb.Ticket{}), b.create(&pb.Ticket{})
	b.into(id, here.GetId())
	b.into(id, gone.GetId())
	_, err := b.DeleteTicket(t.Context(), &pb.DeleteTicketRequest{TicketId: gone.GetId()})
	require.NoError(t, err)
	w := b.watch(here.GetId())
	acked, err := b.acknowledge(id, "host:1")
	require.NoError(t, err)
	here.Assignment = &pb.Assignment{Connection: "host:1"}
	require.Len(t, acked.GetTickets(), 1)
	same(t, here, acked.GetTickets()[0])
	require.EqualValues(t, 1, acked.GetBackfill().GetGeneration())
	require.Equal(t, id, acked.GetBackfill().GetId())
	w.hears("host:1")
	require.Contains(t, b.queried(&pb.Pool{}), bystander.GetId())

	again, err := b.acknowledge(id, "host:2") // as after an answer that was lost
	require.NoError(t, err)
	require.Len(t, again.GetTickets(), 1)
	same(t, here, again.GetTickets()[0])
	got, err := b.ticket(here.GetId())
	require.NoError(t, err)
	require.Equal(t, "host:1", got.GetAssignment().GetConnection())
}

// Pins tickets that stay pending for a backfill that was updated or deleted.
func TestTicketsOfABackfillWaitAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, leave := range []func(id string) error{
		func(id string) error {
			_, err := b.UpdateBackfill(t.Context(), &pb.UpdateBackfillRequest{Backfill: &pb.Backfill{Id: id}})
			return err
		},
		func(id string) error {
			_, err := b.DeleteBackfill(t.Context(), &pb.DeleteBackfillRequest{BackfillId: id})
			return err
		},
	} {
		id, ticket := b.createBackfill(&pb.Backfill{}).GetId(), b.create(&pb.Ticket{}).GetId()
		b.into(id, ticket)
		require.NotContains(t, b.queried(&pb.Pool{}), ticket)
		require.NoError(t, leave(id))
		require.Contains(t, b.queried(&pb.Pool{}), ticket)
		acked, err := b.acknowledge(id, "host:1")
		if err == nil {
			require.Empty(t, acked.GetTickets())
		}
	}
}

// Pins a backfill that expires too late or too early. Only acknowledgements count as a sign of life, not updates.
func TestAnExpiredBackfill(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.createBackfill(&pb.Backfill{Extensions: map[string]*anypb.Any{"it": {TypeUrl: "a/b"}}}).GetId()
	b.unheard(id, "45 seconds")
	require.Equal(t, []string{"it"}, b.backfills(&pb.Pool{}))
	_, err := b.UpdateBackfill(t.Context(), &pb.UpdateBackfillRequest{Backfill: &pb.Backfill{Id: id, Extensions: map[string]*anypb.Any{"it": {TypeUrl: "a/b"}}}})
	require.NoError(t, err)
	b.store.Exec("UPDATE backfills SET acked_at = acked_at - interval '3 seconds'") // 48 s are four fifths of a minute
	require.Empty(t, b.backfills(&pb.Pool{}))
	_, err = b.UpdateBackfill(t.Context(), &pb.UpdateBackfillRequest{Backfill: &pb.Backfill{Id: id}})
	refused(t, codes.FailedPrecondition, "can not update an expired backfill, id: "+id, err)
	_, err = b.acknowledge(id, "host:1")
	refused(t, codes.FailedPrecondition, "can not acknowledge an expired backfill, id: "+id, err)
	_, err = b.backfill(id)
	require.NoError(t, err)

	b.unheard(id, "45 seconds")
	_, err = b.acknowledge(id, "host:1")
	require.NoError(t, err)
	b.store.Exec("UPDATE backfills SET acked_at = acked_at - interval '45 seconds'")
	require.Equal(t, []string{"it"}, b.backfills(&pb.Pool{}))
}
