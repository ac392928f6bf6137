package functions

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/must"
)

func packed(t *testing.T, m proto.Message) *anypb.Any {
	return must.Get(anypb.New(m))(t)
}

func TestScoreOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input      map[string]*anypb.Any
		score      *float64
		unreadable bool
	}{
		"no extensions": {nil, nil, false},
		"other extensions": {map[string]*anypb.Any{"score": packed(t, &pb.DefaultEvaluationCriteria{Score: 1})}, nil,
			false},
		"a score": {map[string]*anypb.Any{"evaluation_input": packed(t,
			&pb.DefaultEvaluationCriteria{Score: -2.5})}, new(-2.5), false},
		"zero": {map[string]*anypb.Any{"evaluation_input": packed(t, &pb.DefaultEvaluationCriteria{})},
			new(0.0), false},
		"infinite": {map[string]*anypb.Any{"evaluation_input": packed(t,
			&pb.DefaultEvaluationCriteria{Score: math.Inf(1)})}, new(math.Inf(1)), false},
		"of another type":     {map[string]*anypb.Any{"evaluation_input": packed(t, &pb.Ticket{})}, nil, true},
		"of an unknown type":  {map[string]*anypb.Any{"evaluation_input": functionstest.UnknownAny()}, nil, true},
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
	m := &pb.Match{
		MatchId: "m", Tickets: []*pb.Ticket{{Id: "a"}, {}, {Id: "a"}},
		Extensions: map[string]*anypb.Any{"x": functionstest.UnknownAny()},
		Backfill: &pb.Backfill{Id: "b", Generation: 7,
			PersistentField: map[string]*anypb.Any{"x": functionstest.UnknownAny()}},
	}
	p, err := convertProposal(m, 64<<10)
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
	p, err := convertProposal(&pb.Match{Backfill: &pb.Backfill{}}, 64<<10)
	require.NoError(t, err)
	require.NotNil(t, p.BackfillBody)
	require.Empty(t, p.BackfillBody)
	p, err = convertProposal(&pb.Match{}, 64<<10)
	require.NoError(t, err)
	require.Nil(t, p.BackfillBody)
	require.NotNil(t, p.Match)
}

func TestProposalRefuses(t *testing.T) {
	t.Parallel()
	large := func(n int) map[string]*anypb.Any { return map[string]*anypb.Any{"x": {Value: make([]byte, n)}} }
	_, err := convertProposal(nil, 64<<10)
	require.Error(t, err)
	_, err = convertProposal(&pb.Match{Extensions: large(maxMatch)}, 64<<10)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	_, err = convertProposal(&pb.Match{Extensions: large(maxMatch - 64)}, 64<<10)
	require.NoError(t, err)
	_, err = convertProposal(&pb.Match{Backfill: &pb.Backfill{Extensions: large(64 << 10)}}, 64<<10)
	require.Error(t, err)
}
