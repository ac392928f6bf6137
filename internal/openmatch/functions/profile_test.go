package functions

import (
	"math"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/match/profile"
)

// A function sees the profile's candidates by its filters, or by the tag that our API gives to tickets which name the
// profile.
func TestTheProfileThatAFunctionGets(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse([]byte("name: duel\npool: {tags: [b, a], strings: {mode: duel}, doubles: {skill: {min: 5, exclude: min}}}\nfunction: {host: mmf, port: 1}"))
	require.NoError(t, err)
	want := &pb.MatchProfile{Name: "duel", Pools: []*pb.Pool{{
		Name: "duel", TagPresentFilters: []*pb.TagPresentFilter{{Tag: "a"}, {Tag: "b"}},
		StringEqualsFilters: []*pb.StringEqualsFilter{{StringArg: "mode", Value: "duel"}},
		DoubleRangeFilters: []*pb.DoubleRangeFilter{{DoubleArg: "skill", Min: 5, Max: math.Inf(1),
			Exclude: pb.DoubleRangeFilter_MIN}},
	}}}
	require.True(t, proto.Equal(want, matchProfile(p)), "%v", matchProfile(p))
	p, err = profile.Parse([]byte("name: duel\nfunction: {host: mmf, port: 1}"))
	require.NoError(t, err)
	want = &pb.MatchProfile{Name: "duel",
		Pools: []*pb.Pool{{Name: "duel", TagPresentFilters: []*pb.TagPresentFilter{{Tag: "profile:duel"}}}}}
	require.True(t, proto.Equal(want, matchProfile(p)), "%v", matchProfile(p))
}

func TestTeams(t *testing.T) {
	t.Parallel()
	list := func(ids ...any) any { return ids }
	for name, c := range map[string]struct {
		teams map[string]any
		want  map[string]string
	}{
		"of each ticket": {map[string]any{"red": list("a"), "blue": list("b", "c")},
			map[string]string{"a": "red", "b": "blue", "c": "blue"}},
		"an empty team": {map[string]any{"red": list("a", "b", "c"), "blue": list()},
			map[string]string{"a": "red", "b": "red", "c": "red"}},
		"a ticket left out":       {map[string]any{"red": list("a", "b")}, nil},
		"a ticket twice":          {map[string]any{"red": list("a", "b", "c"), "blue": list("a")}, nil},
		"a stranger":              {map[string]any{"red": list("a", "b", "c", "d")}, nil},
		"no list":                 {map[string]any{"red": "a"}, nil},
		"a team without a name":   {map[string]any{"": list("a", "b", "c")}, nil},
		"a name with a zero byte": {map[string]any{"r\x00d": list("a", "b", "c")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := structpb.NewStruct(c.teams)
			require.NoError(t, err)
			p, err := convertProposal(&pb.Match{
				Tickets:    []*pb.Ticket{{Id: "a"}, {Id: "b"}, {Id: "c"}},
				Extensions: map[string]*anypb.Any{teamsExtension: packed(t, s)},
			}, 0)
			require.NoError(t, err)
			got, err := Teams(p)
			require.Equal(t, c.want != nil, err == nil, "%v", err)
			require.Equal(t, c.want, got)
		})
	}
	got, err := Teams(cycle.Proposal{ID: uuid.NewString()})
	require.NoError(t, err)
	require.Nil(t, got)
	unknown, err := convertProposal(
		&pb.Match{Extensions: map[string]*anypb.Any{teamsExtension: functionstest.UnknownAny()}}, 0)
	require.NoError(t, err)
	_, err = Teams(unknown)
	require.Error(t, err)
}
