package verify

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Guess returns a valid new match of some of the tickets, in one of the regions. It fills teams at random, at most so
// many times: if it returns false, there may be a match that it missed. It is for more tickets than [Find] can try.
func Guess(p *profile.Profile, tickets []match.Ticket, regions []string, now time.Time, random *rand.Rand,
	tries int) (Match, bool) {
	g := guesser{p: p, now: now, regions: regions, random: random, candidates: candidatesOf(p, tickets),
		firmRules: slices.DeleteFunc(slices.Clone(p.Rules), mayBeMended)}
	if len(g.candidates) == 0 {
		return Match{}, false
	}
	for range tries {
		g.fillMatch()
		if len(g.triedMatch.Tickets) > 0 && len(Check(p, g.triedMatch, now)) == 0 {
			return g.triedMatch, true
		}
	}
	return Match{}, false
}

// guesser fills matches at random.
type guesser struct {
	p          *profile.Profile
	now        time.Time
	regions    []string
	random     *rand.Rand
	candidates []match.Ticket
	firmRules  []profile.Rule // those that no further ticket mends
	triedMatch Match
	freePlaces []int // of the teams of p.Teams, by their index
}

// mayBeMended reports whether a rule that the tickets of a match violate may hold once more tickets or roles are added.
// An older ticket, which widens the limits of a rule, is left out: a guess may miss such a match.
func mayBeMended(r profile.Rule) bool {
	// Whether the rule counts a player is not known before all players have their roles.
	if r.Role != "" {
		return true
	}
	switch r.Kind {
	case profile.Same, profile.Different, profile.Common, profile.Avoid:
		return false
	case profile.Near:
		// A mean changes with each ticket, and numbers by role with each role.
		return r.FromMean || r.Rates()
	case profile.Latency:
		return r.TakeMean
	default:
		return true
	}
}

// fillMatch fills a new match at random with tickets that violate no firm rule.
func (g *guesser) fillMatch() {
	// In a region from the beginning, so that rules on latencies refuse tickets early.
	g.triedMatch = Match{Region: g.regions[g.random.IntN(len(g.regions))]}
	g.drawPlaces()
	order := g.drawOrder()
	// Roles first: the players who fill one are few, and would find their places taken.
	g.seatRoles(order)
	for _, i := range order {
		for _, team := range g.random.Perm(len(g.p.Teams)) {
			if g.seatTicket(i, team) {
				break
			}
		}
	}
}

// drawPlaces draws the teams' sizes: all the least, all the greatest, or one for each.
func (g *guesser) drawPlaces() {
	const allLeast, allGreatest, kinds = 0, 1, 3
	g.freePlaces = g.freePlaces[:0]
	kind := g.random.IntN(kinds)
	for _, t := range g.p.Teams {
		least := g.leastEver(t)
		stepsToGreatest := (t.Max - least) / t.Step
		steps := g.random.IntN(stepsToGreatest + 1)
		switch kind {
		case allLeast:
			steps = 0
		case allGreatest:
			steps = stepsToGreatest
		}
		g.freePlaces = append(g.freePlaces, least+steps*t.Step)
	}
}

// leastEver returns the least size of a team at any age: Check refuses the match if its tickets have not waited for it.
func (g *guesser) leastEver(t profile.Team) int {
	if g.p.BotsAfter > 0 {
		return leastBesideBots(t)
	}
	least := t.Min
	for _, step := range g.p.Fewer {
		least = min(least, step.Players[t.Name])
	}
	return least
}

// drawOrder draws a candidate and returns the indices of all in a random order after it, or those first whose skill is
// near its own. Half of the time it leaves out the candidates that are older, at whose age rules may be wider.
func (g *guesser) drawOrder() []int {
	order := g.random.Perm(len(g.candidates))
	first := &g.candidates[order[0]]
	if g.random.IntN(2) == 0 {
		// No player has the attribute "": without a skill, the noise alone decides.
		attribute := []string{"skill", ""}[g.random.IntN(2)]
		// Of skills that differ by 300 (standard deviation), as those of verifytest.RandomQueue.
		noise := 200 * g.random.Float64()
		distance := make([]float64, len(g.candidates))
		for i := range g.candidates {
			distance[i] = math.Abs(numberOf(&g.candidates[i], attribute)-numberOf(first, attribute)) +
				noise*g.random.Float64()
		}
		slices.SortStableFunc(order[1:], func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
	}
	if g.random.IntN(2) == 0 {
		order = slices.DeleteFunc(order, func(i int) bool { return g.candidates[i].Created.Before(first.Created) })
	}
	return order
}

// numberOf returns a number of a ticket's first player, which is near enough to those of the others for an order.
func numberOf(t *match.Ticket, attribute string) float64 {
	return t.Players[0].Attributes[attribute].Number
}

// seatRoles seats tickets that have a player for a role that a team still has to have.
func (g *guesser) seatRoles(order []int) {
	for team, t := range g.p.Teams {
		for _, role := range t.Roles {
			for _, i := range order {
				if g.missingPlayers(team, role) == 0 {
					break
				}
				if slices.ContainsFunc(g.candidates[i].Players,
					func(p match.Player) bool { return wishesRole(p, role.Name) }) {
					g.seatTicket(i, team)
				}
			}
		}
	}
}

// wishesRole reports whether a player has asked for a role. Roles that autofill adds are left out: a guess may miss
// such a match.
func wishesRole(p match.Player, role string) bool {
	return slices.Contains(textsOf(p.Attributes["role"]), role)
}

// missingPlayers returns how many players with a role the team of an index still has to have.
func (g *guesser) missingPlayers(team int, role profile.Role) int {
	missing := role.Min
	for _, s := range g.triedMatch.Seats {
		if s.Team == g.p.Teams[team].Name && s.Role == role.Name {
			missing--
		}
	}
	return max(0, missing)
}

// seatTicket seats the i-th candidate in the team of an index, each of its players with the first role that the player
// has asked for and the team still has to have. It returns false, and changes nothing, if the ticket has a seat
// already, the team has too few free places, or a firm rule is violated then.
func (g *guesser) seatTicket(i, team int) bool {
	t := &g.candidates[i]
	isSeated := slices.ContainsFunc(g.triedMatch.Tickets, func(o match.Ticket) bool { return o.ID == t.ID })
	if isSeated || g.freePlaces[team] < len(t.Players) {
		return false
	}
	before := g.triedMatch
	g.triedMatch.Tickets = append(g.triedMatch.Tickets, *t)
	for _, p := range t.Players {
		g.triedMatch.Seats = append(g.triedMatch.Seats,
			Seat{Ticket: t.ID, Sub: p.Sub, Team: g.p.Teams[team].Name, Role: g.roleFor(p, team)})
	}
	if !g.firmRulesHold() {
		g.triedMatch = before
		return false
	}
	g.freePlaces[team] -= len(t.Players)
	return true
}

// roleFor returns the first role that the player has asked for and the team still has to have; "": none.
func (g *guesser) roleFor(p match.Player, team int) string {
	for _, role := range g.p.Teams[team].Roles {
		if wishesRole(p, role.Name) && g.missingPlayers(team, role) > 0 {
			return role.Name
		}
	}
	return ""
}

// firmRulesHold reports whether the match may become valid with more tickets.
func (g *guesser) firmRulesHold() bool {
	c := newChecker(g.p, g.triedMatch, g.now)
	return len(c.checkOnce()) == 0 && len(c.checkMode()) == 0 && len(c.checkRules(g.firmRules)) == 0
}
