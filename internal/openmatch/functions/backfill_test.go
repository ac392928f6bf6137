package functions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/must"
)

func backfillOf(t *testing.T, n db.NewBackfill, created time.Time) *pb.Backfill {
	var b pb.Backfill
	require.NoError(t, proto.Unmarshal(n.EncodeBody("id", created), &b))
	return &b
}

func encoded(t *testing.T, m proto.Message) []byte {
	return must.Get(proto.Marshal(m))(t)
}

// The director sets the creation time and the generation; those of the match function are ignored.
func TestMatchedBackfillThatIsNew(t *testing.T) {
	t.Parallel()
	sent := &pb.Backfill{
		SearchFields:    &pb.SearchFields{Tags: []string{"new"}},
		Extensions:      map[string]*anypb.Any{"e": functionstest.UnknownAny()},
		PersistentField: map[string]*anypb.Any{"p": functionstest.UnknownAny()},
		CreateTime:      &timestamppb.Timestamp{Seconds: 1, Nanos: 1}, Generation: 9,
	}
	n, err := matchedBackfill(encoded(t, sent), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, n.SearchFields.Tags)
	at := time.Unix(5, 0)
	expected := proto.CloneOf(sent)
	expected.Id, expected.CreateTime, expected.Generation = "id", timestamppb.New(at), 0
	require.True(t, proto.Equal(expected, backfillOf(t, n, at)))
}

// A match does not change a backfill's persistent field.
func TestMatchedBackfillThatExists(t *testing.T) {
	t.Parallel()
	at := time.Unix(5, 7)
	old := &pb.Backfill{
		Id: "id", CreateTime: timestamppb.New(at), SearchFields: &pb.SearchFields{Tags: []string{"old"}},
		Extensions:      map[string]*anypb.Any{"old": functionstest.UnknownAny()},
		PersistentField: map[string]*anypb.Any{"old": functionstest.UnknownAny()},
	}
	sent := &pb.Backfill{
		Id: "id", Generation: 3, SearchFields: &pb.SearchFields{Tags: []string{"new"}},
		Extensions:      map[string]*anypb.Any{"new": functionstest.UnknownAny()},
		PersistentField: map[string]*anypb.Any{"new": functionstest.UnknownAny()},
	}
	n, err := matchedBackfill(encoded(t, sent),
		&db.Backfill{ID: "id", Body: encoded(t, old), Generation: 3, CreatedAt: at})
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, n.SearchFields.Tags)
	expected := proto.CloneOf(old)
	expected.SearchFields, expected.Extensions = sent.GetSearchFields(), sent.GetExtensions()
	require.True(t, proto.Equal(expected, backfillOf(t, n, at)))
	_, err = matchedBackfill([]byte{0xff}, nil)
	require.Error(t, err)
}
