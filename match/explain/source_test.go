package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/match/profile"
)

// A profile gets the source that it asks for, or the ticket is no candidate: also of an attribute that has a default, or
// that only the pool reads.
func TestATicketOnAWeakerWordIsNoCandidate(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse([]byte(`name: ranked
attributes: {skill: {type: number, default: 1000, from: claim, claim: game.skill}, blocked: {type: list, from: backend, default: []}}
teams: [{name: red, players: 1}, {name: blue, players: 1}]
rules: [{near: skill, within: 100}, {avoid: blocked}]
`))
	require.NoError(t, err)
	ticket := func(sources map[string]match.Source) *match.Ticket {
		return &match.Ticket{ID: "t", Profiles: []string{"ranked"}, Players: []match.Player{{Sub: "ada", Sources: sources, Attributes: match.Attributes{
			"skill": {Kind: match.Number, Number: 400}, "blocked": {Kind: match.List, List: []string{"bo"}},
		}}}}
	}
	vouched := map[string]match.Source{"skill": match.FromClaim, "blocked": match.FromBackend}
	require.Empty(t, decide.NeverMatches(p, ticket(vouched)))
	require.Empty(t, decide.NeverMatches(p, ticket(map[string]match.Source{"skill": match.FromBackend, "blocked": match.FromBackend})))
	for weak, sources := range map[string]map[string]match.Source{
		"skill": {"blocked": match.FromBackend}, "blocked": {"skill": match.FromClaim, "blocked": match.FromClaim},
	} {
		lacks := decide.NeverMatches(p, ticket(sources))
		require.Equal(t, []decide.Lack{{Why: decide.LacksSource, Attribute: weak, Sub: "ada"}}, lacks)
		require.NotContains(t, explain.LackText(lacks[0], p, ticket(sources)), "ada")
	}
	require.Contains(t, explain.Refusal(p, ticket(map[string]match.Source{"blocked": match.FromBackend})),
		"player ada has attribute skill on a weaker word than that of the claim game.skill of its access token, or a backend's")
}
