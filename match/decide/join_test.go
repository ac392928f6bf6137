package decide

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// open returns a match of two teams whose players have the skills.
func open(session string, teams ...[]float64) Roster {
	r := Roster{Session: session, Region: "eu", Opened: now.Add(-time.Minute)}
	for i, skills := range teams {
		var team []RosterPlayer
		for j, x := range skills {
			sub := session + string(rune('a'+i)) + string(rune('0'+j))
			team = append(team, RosterPlayer{Ticket: "t" + sub, Sub: sub, Attributes: match.Attributes{"skill": {Kind: match.Number, Number: x}}})
		}
		r.Teams = append(r.Teams, team)
	}
	return r
}

func joining(p *profile.Profile, when profile.Joining) *profile.Profile {
	p.JoinInProgress = profile.JoinInProgress{When: when, Within: 10 * time.Minute}
	return p
}

func decideWith(p *profile.Profile, rosters []Roster, tickets ...*match.Ticket) []Proposal {
	return Decide(Input{Version: Version{p, 1}, Tickets: tickets, Rosters: rosters, Regions: []Region{{"eu", true}}, Now: now}).Proposals
}

func TestJoinInProgress(t *testing.T) {
	t.Parallel()
	p := joining(with(game(2, 2), nearSkill(10)), profile.Prefer)
	rosters := []Roster{open("s", []float64{1, 2}, []float64{3})}
	found := decideWith(p, rosters, ticket("a", skill(5), waited(time.Second)), ticket("b", skill(5)))
	require.Len(t, found, 1, "there is one free seat")
	require.Equal(t, "s", found[0].Session)
	require.Equal(t, []string{"a"}, found[0].Tickets)
	require.Equal(t, []Team{{Name: "team-1"}, {Name: "team-2", Seats: []Seat{{Ticket: "a", Sub: "a"}}}}, found[0].Teams)
	require.Equal(t, "eu", found[0].Regions[0].Name)

	require.Empty(t, decideWith(p, rosters, ticket("a", skill(11.5))), "rules hold over the roster and the newcomers")
	require.Empty(t, decideWith(joining(with(game(2, 2), nearSkill(10)), profile.Never), rosters, ticket("a", skill(5))))
	old := open("s", []float64{1, 2}, []float64{3})
	old.Opened = now.Add(-10*time.Minute - 1)
	require.Empty(t, decideWith(p, []Roster{old}, ticket("a", skill(5))), "the session is too old")
}

// Pins that players of an open match, who have no waiting time, were compared with one another under the age of each.
func TestNewcomersOfPairsThatPlayAlready(t *testing.T) {
	t.Parallel()
	same := passing(on(profile.Same, "skill", profile.Limits{}))
	same.Age = profile.Each
	not := profile.Rule{Kind: profile.Not, Rules: []profile.Rule{same}}
	rosters := []Roster{open("s", []float64{0}, []float64{1})}
	for name, c := range map[string]struct {
		rule     profile.Rule
		newcomer option
		joins    int
	}{
		"compared with nobody":         {same, textOf("class", "none"), 1},
		"different from one of them":   {same, skill(1), 0},
		"not the same, with nobody":    {not, textOf("class", "none"), 0},
		"not the same, different":      {not, skill(1), 1},
		"not the same, from both":      {not, skill(2), 1},
		"the same as neither of those": {same, skill(2), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Len(t, decideWith(joining(with(game(2, 2), c.rule), profile.Prefer), rosters, ticket("a", c.newcomer)), c.joins)
		})
	}
}

func TestJoinsKeepTeamsEven(t *testing.T) {
	t.Parallel()
	p := joining(game(4, 4), profile.Allow)
	rosters := []Roster{open("s", []float64{1, 1}, []float64{1, 1})}
	require.Empty(t, decideWith(p, rosters, ticket("a", party(2))))
	require.Len(t, decideWith(p, rosters, ticket("a"), ticket("b"), ticket("c"), ticket("d"), ticket("e")), 4)
}

func TestWholeMatchesBeforeJoins(t *testing.T) {
	t.Parallel()
	rosters := []Roster{open("s", []float64{1}, nil)}
	tickets := []*match.Ticket{ticket("a"), ticket("b")}
	require.Empty(t, decideWith(joining(game(1, 1), profile.Allow), rosters, tickets...)[0].Session)
	require.Equal(t, "s", decideWith(joining(game(1, 1), profile.Prefer), rosters, tickets...)[0].Session)
}

// A free seat is kept for a role that the team lacks.
func TestJoinKeepsASeatForARole(t *testing.T) {
	t.Parallel()
	p := joining(tankAndHealer(game(2, 2)), profile.Prefer)
	r := open("s", []float64{1, 1}, []float64{1})
	r.Teams[0][0].Role, r.Teams[0][1].Role, r.Teams[1][0].Role = "tank", "healer", "tank"
	require.Empty(t, decideWith(p, []Roster{r}, ticket("a", list("role", "tank"))))
	found := decideWith(p, []Roster{r}, ticket("a", list("role", "tank", "healer")))
	require.Len(t, found, 1)
	require.Equal(t, []Seat{{Ticket: "a", Sub: "a", Role: "healer"}}, found[0].Teams[1].Seats)
}
