package openmatch

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/openmatch/functions"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/matchtest"
)

// Any ticket is stored unchanged but for its id and time, and none makes a query fail.
func FuzzTicket(f *testing.F) {
	seed, err := proto.Marshal(&pb.Ticket{Id: "x", SearchFields: &pb.SearchFields{
		DoubleArgs: map[string]float64{"a": 1}, StringArgs: map[string]string{"b": "c"}, Tags: []string{"d", ""},
	}})
	require.NoError(f, err)
	f.Add(seed, int64(0))
	f.Add([]byte{0xa2, 6, 1, 'x'}, int64(1_700_000_000_123_456_789)) // a field of a later release
	f.Add([]byte{34, 2, 26, 0}, int64(-1))
	f.Fuzz(func(t *testing.T, data []byte, nanos int64) {
		var given pb.Ticket
		if proto.Unmarshal(data, &given) != nil {
			return
		}
		want := proto.CloneOf(&given)
		created := time.Unix(0, nanos).UTC()
		want.Id, want.CreateTime = "0123456789abcdefghij", timestamppb.New(created)

		n, err := newTicket(&given, math.MaxInt)
		require.NoError(t, err)
		var got pb.Ticket
		require.NoError(t, proto.Unmarshal(n.EncodeBody(want.GetId(), created), &got))
		require.True(t, proto.Equal(want, &got), "want %v\n got %v", want, &got)
		again := n.EncodeBody("other", created)
		require.NoError(t, proto.Unmarshal(again, &got))
		require.Equal(t, "other", got.GetId())

		n.SearchFields.Created = match.MomentOf(created)
		n.SearchFields.Row()
	})
}

// Pins a pool that changes on the wire.
func TestPoolsFromTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := matchtest.Pools().Draw(t, "pool")
		m := &pb.Pool{CreatedBefore: stamp(p.CreatedBefore), CreatedAfter: stamp(p.CreatedAfter)}
		for _, r := range p.Doubles {
			m.DoubleRangeFilters = append(m.DoubleRangeFilters, &pb.DoubleRangeFilter{
				DoubleArg: r.Arg, Min: r.Min, Max: r.Max, Exclude: pb.DoubleRangeFilter_Exclude(r.Exclude),
			})
		}
		for _, e := range p.Strings {
			m.StringEqualsFilters = append(m.StringEqualsFilters,
				&pb.StringEqualsFilter{StringArg: e.Arg, Value: e.Value})
		}
		for _, tag := range p.Tags {
			m.TagPresentFilters = append(m.TagPresentFilters, &pb.TagPresentFilter{Tag: tag})
		}
		f := matchtest.Fields().Draw(t, "fields")
		require.Equal(t, p.Holds(f), poolOf(m).Holds(f))
		require.Equal(t, p.Check(), poolOf(m).Check())
	})
}

func stamp(m *match.Moment) *timestamppb.Timestamp {
	if m == nil {
		return nil
	}
	return &timestamppb.Timestamp{Seconds: m.Seconds, Nanos: m.Nanos}
}

func TestEncodedBackfill(t *testing.T) {
	t.Parallel()
	n, err := functions.NewBackfill(&pb.Backfill{Id: "mine", Generation: 9,
		SearchFields: &pb.SearchFields{Tags: []string{"a"}}}, math.MaxInt)
	require.NoError(t, err)
	at := time.Unix(5, 7).UTC()
	var got pb.Backfill
	require.NoError(t, proto.Unmarshal(encodedBackfill(db.Backfill{Body: n.EncodeBody("id", at), Generation: 300}),
		&got))
	want := &pb.Backfill{Id: "id", CreateTime: timestamppb.New(at), Generation: 300,
		SearchFields: &pb.SearchFields{Tags: []string{"a"}}}
	require.True(t, proto.Equal(want, &got), "%v", &got)
}
