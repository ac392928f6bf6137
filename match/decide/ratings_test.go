package decide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

var ratingsByRole = []profile.RoleAttribute{{Role: "damage", Attribute: "as_damage"}, {Role: "support", Attribute: "as_support"}, {Role: "tank", Attribute: "as_tank"}}

// Pins teams that are made even by numbers that do not count: those without the role, or in the role that the player
// had in the other team.
func TestTeamsAreEvenByTheRatingOfTheRole(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var tickets []*match.Ticket
	rating := map[string]float64{}
	for i := range 1000 {
		role := []string{"damage", "damage", "support", "support", "tank"}[i%5]
		one := ticket(fmt.Sprintf("t%04d", i), skill(1500), number("as_damage", 0), number("as_support", 0), number("as_tank", 0), textOf("role", role))
		rating[one.ID] = math.Round(1500 + 300*random.NormFloat64())
		number("as_"+role, rating[one.ID])(one)
		tickets = append(tickets, one)
	}
	p := game(5, 5)
	for i := range p.Teams {
		p.Teams[i].Roles = []profile.Role{{Name: "damage", Min: 2, Max: 2}, {Name: "support", Min: 2, Max: 2}, {Name: "tank", Min: 1, Max: 1}}
	}
	near := nearSkill(400)
	near.ByRole = ratingsByRole
	found := decide(with(p, near), tickets...)
	require.Greater(t, len(found), 80)
	requireEven(t, found, rating, 1.5)
}

// Pins players who get a role without the number that the rule needs of it, and a ticket that is refused although it
// will take other roles.
func TestARoleNeedsItsRating(t *testing.T) {
	t.Parallel()
	p := game(2)
	p.Teams[0].Roles = []profile.Role{{Name: "support", Min: 1, Max: 1}, {Name: "tank", Min: 1, Max: 1}}
	near := nearSkill(10)
	near.ByRole = ratingsByRole[1:]
	p = with(p, near)
	seats := func(tickets ...*match.Ticket) map[string]string {
		roles := map[string]string{}
		for _, m := range decide(p, tickets...) {
			for _, s := range m.Teams[0].Seats {
				roles[s.Ticket] = s.Role
			}
		}
		return roles
	}
	both := list("role", "tank", "support")
	a := ticket("a", skill(0), both, number("as_tank", 100), number("as_support", 100))
	require.Equal(t, map[string]string{"a": "tank", "b": "support"}, seats(a, ticket("b", skill(0), both, number("as_support", 100))))
	require.Equal(t, map[string]string{"a": "support", "b": "tank"}, seats(a, ticket("b", skill(0), both, number("as_tank", 100), number("as_support", 200))))
	require.Empty(t, seats(a, ticket("b", skill(0), both, number("as_tank", 200), number("as_support", 200))))
	require.Empty(t, seats(a, ticket("b", skill(0), both)))

	duo := ticket("c", skill(0), textOf("role", "tank"), number("as_tank", 100), number("as_support", 300), party(2))
	duo.Players[1].Attributes = match.Attributes{
		"skill": {Kind: match.Number}, "role": {Kind: match.Text, Text: "support"},
		"as_support": {Kind: match.Number, Number: 300}, "as_tank": {Kind: match.Number, Number: 100},
	}
	require.Equal(t, []Lack{{Why: LacksRule, Rule: "near-skill"}}, NeverMatches(p, duo))
	p.Autofill = time.Minute
	require.Empty(t, NeverMatches(p, duo), "they exchange their roles after a minute")
}
