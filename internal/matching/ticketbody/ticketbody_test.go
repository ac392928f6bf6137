package ticketbody_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	openmatch "github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/api/ticket/pb"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
)

var (
	names  = rapid.SampledFrom([]string{"skill", "role", "maps", "a", "b", "A.b-c_9"})
	texts  = rapid.SampledFrom([]string{"", "a", "a:b", "é", "profile:x", ":"})
	values = rapid.Custom(func(t *rapid.T) match.Value {
		switch rapid.SampledFrom([]match.Kind{match.Number, match.Text, match.List}).Draw(t, "kind") {
		case match.Number:
			finite := rapid.OneOf(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), rapid.Just(0.0))
			return match.Value{Kind: match.Number, Number: finite.Draw(t, "number")}
		case match.Text:
			return match.Value{Kind: match.Text, Text: texts.Draw(t, "text")}
		default:
			return match.Value{Kind: match.List, List: rapid.SliceOfN(texts, 0, 4).Draw(t, "list")}
		}
	})
	attributes = rapid.Custom(func(t *rapid.T) match.Attributes { return rapid.MapOfN(names, values, 0, 5).Draw(t, "attributes") })
	sources    = rapid.Custom(func(t *rapid.T) map[string]match.Source {
		return rapid.MapOfN(names, rapid.SampledFrom([]match.Source{match.FromClient, match.FromClaim, match.FromBackend}), 0, 4).Draw(t, "sources")
	})
	drafts = rapid.Custom(func(t *rapid.T) ticketbody.Draft {
		d := ticketbody.Draft{
			Profiles:   rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"duel", "ranked-5v5", "x"}), 0, 3, rapid.ID).Draw(t, "profiles"),
			Attributes: attributes.Draw(t, "attributes"),
			Latencies:  rapid.MapOfN(rapid.SampledFrom([]string{"eu", "us", "ap"}), rapid.Uint16Range(0, 10_000), 0, 3).Draw(t, "latencies"),
		}
		for _, sub := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"ada", "bo", "cy", "é"}), 1, 4, rapid.ID).Draw(t, "party") {
			d.Players = append(d.Players, match.Player{Sub: sub, Attributes: attributes.Draw(t, "own"), Sources: sources.Draw(t, "sources")})
		}
		return d
	})
)

var at = time.Unix(1_790_000_000, 123_456_789).UTC()

// Pins an attribute, a player or a latency that the queue loses between the API and the loop.
func TestADraftSurvivesTheQueue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := drafts.Draw(t, "draft")
		body, err := ticketbody.Encode("id", at, d)
		require.NoError(t, err)
		got, err := ticketbody.Decode("id", at, body, "player")
		require.NoError(t, err)

		want := ticketbody.Fields(d)
		want.Created = match.MomentOf(at)
		require.Equal(t, want.Row(), got.Fields.Row(), "the row's fields and the body's")
		require.ElementsMatch(t, d.Profiles, got.Profiles)
		require.Equal(t, d.Latencies, got.Latencies)
		require.Len(t, got.Players, len(d.Players))
		require.True(t, slices.IsSortedFunc(got.Players, func(a, b match.Player) int { return strings.Compare(a.Sub, b.Sub) }))
		for _, p := range d.Players {
			i := slices.IndexFunc(got.Players, func(g match.Player) bool { return g.Sub == p.Sub })
			want := maps.Clone(d.Attributes)
			maps.Copy(want, p.Attributes)
			requireSame(t, want, got.Players[i].Attributes)
			require.Equal(t, match.FromClient, got.Players[i].Source)
			for name := range got.Players[i].Attributes {
				require.Equal(t, p.SourceOf(name), got.Players[i].SourceOf(name), name)
			}
		}
		again, err := ticketbody.Encode("id", at, d)
		require.NoError(t, err)
		require.Equal(t, body, again, "no order of maps shows")
		require.Equal(t, subsOf(got.Players), ticketbody.Party(body))
		requireRequested(t, got, body, "player")
		all, _ := ticketbody.Facts(got)
		var read map[string]map[string]any
		require.NoError(t, json.Unmarshal(all, &read))
		delete(read, "") // who vouches for the attributes
		require.Len(t, read, len(d.Players))
	})
}

// requireSame compares attributes; an empty list may be nil.
func requireSame(t require.TestingT, want, got match.Attributes) {
	require.Len(t, got, len(want))
	for name, v := range want {
		require.Equal(t, v.Kind, got[name].Kind, name)
		require.Equal(t, v.Number, got[name].Number, name)
		require.Equal(t, v.Text, got[name].Text, name)
		require.True(t, slices.Equal(v.List, got[name].List), name)
	}
}

func subsOf(players []match.Player) (subs []string) {
	for _, p := range players {
		subs = append(subs, p.Sub)
	}
	return subs
}

// A ticket of an Open Match frontend has the player of the configured string_arg, and profiles by tag.
func TestATicketOfOpenMatch(t *testing.T) {
	t.Parallel()
	body, err := proto.Marshal(&openmatch.Ticket{Id: "other", CreateTime: timestamppb.Now(), SearchFields: &openmatch.SearchFields{
		DoubleArgs: map[string]float64{"skill": 7, "broken": math.NaN(), "endless": math.Inf(1)},
		StringArgs: map[string]string{"player": "ada", "role": "tank", "zero": "a\x00"},
		Tags:       []string{"ranked", "maps:dust", "profile:duel", "maps:aim:2", "maps:\x00"},
	}})
	require.NoError(t, err)
	got, err := ticketbody.Decode("id", at, body, "player")
	require.NoError(t, err)
	require.Equal(t, "id", got.ID)
	require.Equal(t, at, got.Created)
	require.Equal(t, []string{"duel"}, got.Profiles)
	require.Equal(t, []match.Player{{Sub: "ada", Source: match.FromBackend, Attributes: match.Attributes{
		"skill": {Kind: match.Number, Number: 7}, "player": {Kind: match.Text, Text: "ada"}, "role": {Kind: match.Text, Text: "tank"},
		"maps": {Kind: match.List, List: []string{"dust", "aim:2"}},
	}}}, got.Players)
	require.Empty(t, ticketbody.Party(body))
	got, err = ticketbody.Decode("id", at, body, "")
	require.NoError(t, err)
	require.Empty(t, got.Players, "no setting names the player")
}

// Pins an extension of a stranger that the loop would index out of its bounds.
func TestInvalidExtensionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, details := range map[string]*pb.TicketDetails{
		"nobody":                     {Players: []*pb.Player{{Sub: ""}}},
		"twice":                      {Players: []*pb.Player{{Sub: "ada"}, {Sub: "ada"}}},
		"a crowd":                    {Players: make([]*pb.Player, ticketbody.MaxPlayers+1)},
		"far away":                   {Latencies: map[string]uint32{"eu": ticketbody.MaxLatency + 1}},
		"insatiable":                 {Profiles: make([]string, ticketbody.MaxProfiles+1)},
		"unprintable":                {Players: []*pb.Player{{Sub: "a\x00"}}},
		"no region":                  {Latencies: map[string]uint32{"a\x00": 20}},
		"a claimed one of that kind": {ClaimedLatencies: map[string]uint32{"a\x00": 20}},
		"no profile":                 {Profiles: []string{"duel\x00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packed, err := anypb.New(details)
			require.NoError(t, err)
			body, err := proto.Marshal(&openmatch.Ticket{Extensions: map[string]*anypb.Any{ticketbody.TicketExtension: packed}})
			require.NoError(t, err)
			_, err = ticketbody.Decode("id", at, body, "")
			require.ErrorContains(t, err, ticketbody.TicketExtension)
		})
	}
	body, err := proto.Marshal(&openmatch.Ticket{Extensions: map[string]*anypb.Any{ticketbody.TicketExtension: {TypeUrl: "x/y"}}})
	require.NoError(t, err)
	_, err = ticketbody.Decode("id", at, body, "")
	require.Error(t, err)
}

func TestAnAssignment(t *testing.T) {
	t.Parallel()
	seats := ticketbody.Seats{MatchID: "m", SessionHandle: "eu.h", Endpoint: "203.0.113.7:7777", Region: "eu", Teams: map[string]string{"ada": "red"}}
	encoded, err := ticketbody.EncodeAssignment(seats.Endpoint, seats)
	require.NoError(t, err)
	connection, err := ticketbody.Connection(encoded)
	require.NoError(t, err)
	require.Equal(t, seats.Endpoint, connection)
	var m openmatch.Assignment
	require.NoError(t, proto.Unmarshal(encoded, &m))
	var details pb.AssignmentDetails
	require.NoError(t, m.GetExtensions()[ticketbody.AssignmentExtension].UnmarshalTo(&details))
	require.True(t, proto.Equal(&pb.AssignmentDetails{
		MatchId: "m", SessionHandle: "eu.h", Endpoint: "203.0.113.7:7777", Region: "eu", Teams: map[string]string{"ada": "red"},
	}, &details))
	_, err = ticketbody.Connection([]byte{0xff})
	require.Error(t, err)
}

// Pins a ticket that gets a player without any setting that names one: its string_arg has the empty name.
func TestWithoutAPlayerArgATicketHasNoPlayer(t *testing.T) {
	t.Parallel()
	body, err := proto.Marshal(&openmatch.Ticket{SearchFields: &openmatch.SearchFields{
		StringArgs: map[string]string{"": "ada"}}})
	require.NoError(t, err)
	got, err := ticketbody.Decode("id", at, body, "")
	require.NoError(t, err)
	require.Empty(t, got.Players)
	_, players := ticketbody.Requested(body, "")
	require.False(t, players)
}

// requireRequested compares what is read without decoding: the loop finds tickets by it, so a profile or a player that
// it misses is one that is never matched.
func requireRequested(t require.TestingT, got *match.Ticket, body []byte, arg string) {
	profiles, players := ticketbody.Requested(body, arg)
	slices.Sort(profiles)
	want := slices.Sorted(slices.Values(got.Profiles))
	require.Equal(t, want, slices.Compact(profiles))
	if !players {
		require.Empty(t, got.Players)
	}
}

// FuzzDecode checks that no body panics, and that what is decoded is within the bounds that the loop relies on.
func FuzzDecode(f *testing.F) {
	body, err := ticketbody.Encode("id", at, ticketbody.Draft{
		Profiles: []string{"duel"}, Latencies: map[string]uint16{"eu": 5},
		Attributes: match.Attributes{"skill": {Kind: match.Number, Number: 1}, "maps": {Kind: match.List}},
		Players:    []match.Player{{Sub: "ada", Attributes: match.Attributes{"role": {Kind: match.Text, Text: "tank"}}}, {Sub: "bo"}},
	})
	require.NoError(f, err)
	f.Add(body, "player")
	f.Add([]byte{26, 2, 34, 0}, "")
	f.Fuzz(func(t *testing.T, body []byte, arg string) {
		party := ticketbody.Party(body)
		got, err := ticketbody.Decode("id", at, body, arg)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(got.Players), ticketbody.MaxPlayers)
		requireRequested(t, got, body, arg)
		if party != nil {
			require.Equal(t, subsOf(got.Players), party)
		}
		for _, p := range got.Players {
			for name, v := range p.Attributes {
				require.NotContains(t, name+v.Text, "\x00")
				require.False(t, math.IsNaN(v.Number) || math.IsInf(v.Number, 0))
			}
		}
		for _, ms := range got.Latencies {
			require.LessOrEqual(t, ms, uint16(ticketbody.MaxLatency))
		}
	})
}
