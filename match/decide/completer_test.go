package decide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

const withFunction = `
name: duel
mode: [arena, yard]
pool: {}
function: {host: mmf.example, port: 50502}
`

func completerTicket(id string, millis map[string]uint16, modes []string, party ...string) *match.Ticket {
	t := &match.Ticket{ID: id, Created: time.Unix(int64(id[0]), 0), Latencies: millis}
	for _, sub := range party {
		t.Players = append(t.Players, match.Player{Sub: sub, Attributes: match.Attributes{"modes": {Kind: match.List, List: modes}}})
	}
	return t
}

// A match of a function has the modes that all tickets allow. The region with the lowest worst latency is first; those
// without room are last.
func TestAMatchOfAFunctionIsCompleted(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse([]byte(withFunction))
	require.NoError(t, err)
	e := decide.NewCompleter(p)
	b := completerTicket("b", map[string]uint16{"eu": 20, "us": 90, "ap": 10}, []string{"yard", "arena"}, "bo", "cy")
	a := completerTicket("a", map[string]uint16{"eu": 100, "us": 80, "ap": 10}, []string{"yard"}, "ada")
	found := e.Proposal([]*match.Ticket{b, a}, map[string]string{"a": "red", "b": "blue"}, []decide.Region{{Name: "eu", Room: true}, {Name: "us", Room: true}, {Name: "ap"}})
	require.Equal(t, "a", found.Anchor, "the oldest")
	require.Equal(t, []string{"a", "b"}, found.Tickets)
	require.Equal(t, []string{"yard"}, found.Modes)
	require.Equal(t, 3, found.Players())
	require.Equal(t, []decide.Team{
		{Name: "red", Seats: []decide.Seat{{Ticket: "a", Sub: "ada"}}},
		{Name: "blue", Seats: []decide.Seat{{Ticket: "b", Sub: "bo"}, {Ticket: "b", Sub: "cy"}}},
	}, found.Teams)
	require.Equal(t, "us", found.Regions[0].Name)
	require.Equal(t, 90, found.Regions[0].Worst)
	require.Equal(t, "ap", found.Regions[2].Name)
}

// A party of any size is a candidate; a ticket that asks for another profile, names no player or no mode of the profile
// is not.
func TestCandidatesOfAFunction(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse([]byte(withFunction))
	require.NoError(t, err)
	e := decide.NewCompleter(p)
	ok, why := e.Candidate(completerTicket("a", nil, []string{"arena"}, "ada", "bo", "cy"))
	require.True(t, ok, "%v", why)
	other := completerTicket("b", nil, []string{"lava"})
	other.Profiles = []string{"ranked"}
	_, why = e.Candidate(other)
	require.Equal(t, []decide.Lack{{Why: decide.LacksPlayer}, {Why: decide.LacksPool}}, why)
	_, why = e.Candidate(completerTicket("c", nil, []string{"lava"}, "ada"))
	require.Equal(t, []decide.Lack{{Why: decide.LacksMode}}, why)
}
