package openmatch

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
)

func packed(t *testing.T, m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	require.NoError(t, err)
	return a
}

func TestScoreOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input      map[string]*anypb.Any
		score      *float64
		unreadable bool
	}{
		"no extensions":       {nil, nil, false},
		"other extensions":    {map[string]*anypb.Any{"score": packed(t, &pb.DefaultEvaluationCriteria{Score: 1})}, nil, false},
		"a score":             {map[string]*anypb.Any{"evaluation_input": packed(t, &pb.DefaultEvaluationCriteria{Score: -2.5})}, new(-2.5), false},
		"zero":                {map[string]*anypb.Any{"evaluation_input": packed(t, &pb.DefaultEvaluationCriteria{})}, new(0.0), false},
		"infinite":            {map[string]*anypb.Any{"evaluation_input": packed(t, &pb.DefaultEvaluationCriteria{Score: math.Inf(1)})}, new(math.Inf(1)), false},
		"of another type":     {map[string]*anypb.Any{"evaluation_input": packed(t, &pb.Ticket{})}, nil, true},
		"of an unknown type":  {map[string]*anypb.Any{"evaluation_input": unknownAny()}, nil, true},
		"of no type":          {map[string]*anypb.Any{"evaluation_input": {}}, nil, true},
		"nothing":             {map[string]*anypb.Any{"evaluation_input": nil}, nil, true},
		"garbage of its type": {map[string]*anypb.Any{"evaluation_input": {TypeUrl: "x/openmatch.DefaultEvaluationCriteria", Value: []byte{9, 1}}}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			score, unreadable := scoreOf(&pb.Match{Extensions: c.input})
			require.Equal(t, c.score, score)
			require.Equal(t, c.unreadable, unreadable)
		})
	}
}

func TestProposal(t *testing.T) {
	t.Parallel()
	o := Options{}.withDefaults()
	m := &pb.Match{
		MatchId: "m", Tickets: []*pb.Ticket{{Id: "a"}, {}, {Id: "a"}}, Extensions: map[string]*anypb.Any{"x": unknownAny()},
		Backfill: &pb.Backfill{Id: "b", Generation: 7, PersistentField: map[string]*anypb.Any{"x": unknownAny()}},
	}
	p, err := o.proposal(m)
	require.NoError(t, err)
	require.Equal(t, "m", p.ID)
	require.Equal(t, []string{"a", "", "a"}, p.Tickets)
	require.Equal(t, "b", p.Backfill)
	require.EqualValues(t, 7, p.Generation)
	var match pb.Match
	require.NoError(t, proto.Unmarshal(p.Match, &match))
	require.True(t, proto.Equal(m, &match))
	var backfill pb.Backfill
	require.NoError(t, proto.Unmarshal(p.BackfillBody, &backfill))
	require.True(t, proto.Equal(m.GetBackfill(), &backfill))
}

// An empty backfill is one to be created; its bytes are empty, not nil, which means no backfill.
func TestProposalOfAnEmptyBackfill(t *testing.T) {
	t.Parallel()
	o := Options{}.withDefaults()
	p, err := o.proposal(&pb.Match{Backfill: &pb.Backfill{}})
	require.NoError(t, err)
	require.NotNil(t, p.BackfillBody)
	require.Empty(t, p.BackfillBody)
	p, err = o.proposal(&pb.Match{})
	require.NoError(t, err)
	require.Nil(t, p.BackfillBody)
	require.NotNil(t, p.Match)
}

func TestProposalRefuses(t *testing.T) {
	t.Parallel()
	o := Options{}.withDefaults()
	large := func(n int) map[string]*anypb.Any { return map[string]*anypb.Any{"x": {Value: make([]byte, n)}} }
	_, err := o.proposal(nil)
	require.Error(t, err)
	_, err = o.proposal(&pb.Match{Extensions: large(maxMatch)})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	_, err = o.proposal(&pb.Match{Extensions: large(maxMatch - 64)})
	require.NoError(t, err)
	_, err = o.proposal(&pb.Match{Backfill: &pb.Backfill{Extensions: large(64 << 10)}})
	require.Error(t, err)
}

func backfillOf(t *testing.T, n db.NewBackfill, created time.Time) *pb.Backfill {
	var b pb.Backfill
	require.NoError(t, proto.Unmarshal(n.Encode("id", created), &b))
	return &b
}

func encoded(t *testing.T, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	return b
}

// The director sets the creation time and the generation; those of the match function are ignored.
func TestMatchedBackfillThatIsNew(t *testing.T) {
	t.Parallel()
	sent := &pb.Backfill{
		SearchFields: &pb.SearchFields{Tags: []string{"new"}}, Extensions: map[string]*anypb.Any{"e": unknownAny()},
		PersistentField: map[string]*anypb.Any{"p": unknownAny()}, CreateTime: &timestamppb.Timestamp{Seconds: 1, Nanos: 1}, Generation: 9,
	}
	n, err := matchedBackfill(encoded(t, sent), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, n.Fields.Tags)
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
		Extensions: map[string]*anypb.Any{"old": unknownAny()}, PersistentField: map[string]*anypb.Any{"old": unknownAny()},
	}
	sent := &pb.Backfill{
		Id: "id", Generation: 3, SearchFields: &pb.SearchFields{Tags: []string{"new"}}, Extensions: map[string]*anypb.Any{"new": unknownAny()},
		PersistentField: map[string]*anypb.Any{"new": unknownAny()},
	}
	n, err := matchedBackfill(encoded(t, sent), &db.Backfill{ID: "id", Body: encoded(t, old), Generation: 3, Created: at})
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, n.Fields.Tags)
	expected := proto.CloneOf(old)
	expected.SearchFields, expected.Extensions = sent.GetSearchFields(), sent.GetExtensions()
	require.True(t, proto.Equal(expected, backfillOf(t, n, at)))
	_, err = matchedBackfill([]byte{0xff}, nil)
	require.Error(t, err)
}
