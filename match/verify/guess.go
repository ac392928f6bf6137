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

// Guess looks for a new match of some of the tickets by filling teams at random, so many times. What it returns is
// valid; if it finds none, there may be one. It is for more tickets than [Find] can try.
func Guess(p *profile.Profile, tickets []match.Ticket, regions []string, now time.Time, random *rand.Rand,
	tries int) (Match, bool) {
	g := guesser{p: p, now: now, regions: regions, random: random, firmRules: firmRules(p.Rules)}
	for _, t := range tickets {
		if len(Candidate(p, t)) == 0 {
			g.queuedTickets = append(g.queuedTickets, t)
		}
	}
	for range tries {
		if len(g.queuedTickets) > 0 && g.tryMatch() {
			return g.triedMatch, true
		}
	}
	return Match{}, false
}

// guesser fills a match.
type guesser struct {
	p             *profile.Profile
	now           time.Time
	regions       []string
	random        *rand.Rand
	queuedTickets []match.Ticket
	firmRules     []profile.Rule // that no further ticket mends
	triedMatch    Match
	freePlaces    []int // by team: free places
}

// firmRules returns the rules that a match breaks for good once some of its tickets do.
func firmRules(rules []profile.Rule) []profile.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r profile.Rule) bool {
		switch r.Kind {
		case profile.Same, profile.Different, profile.Common, profile.Avoid:
			// Whether they bind a player with another role is not known before all have theirs.
			return r.Role != ""
		case profile.Near:
			// A mean moves with each ticket, and numbers by role with each role.
			return r.Role != "" || r.FromMean || r.Rates()
		case profile.Latency:
			// A mean moves with each ticket.
			return r.Role != "" || r.TakeMean
		default:
			return true
		}
	})
}

// tryMatch fills one match at random, and reports whether it is valid.
func (g *guesser) tryMatch() bool {
	// In a region from the beginning, so that rules on latencies refuse tickets early.
	g.triedMatch = Match{Region: g.regions[g.random.IntN(len(g.regions))]}
	g.drawPlaces()
	order := g.drawOrder()
	// Roles first: those who fill one are few, and would find their places taken.
	g.seatRoles(order)
	for _, i := range order {
		for _, team := range g.random.Perm(len(g.p.Teams)) {
			if g.seatTicket(i, team) {
				break
			}
		}
	}
	return len(g.triedMatch.Tickets) > 0 && len(Check(g.p, g.triedMatch, g.now)) == 0
}

// drawPlaces draws the teams' sizes, often the least or the greatest of all teams.
func (g *guesser) drawPlaces() {
	g.freePlaces = g.freePlaces[:0]
	like := g.random.IntN(3)
	for _, t := range g.p.Teams {
		least := t.Min
		for _, f := range g.p.Fewer {
			// The least size of any age: Check refuses the match if its tickets have not waited for it.
			least = min(least, f.Players[t.Name])
		}
		if g.p.BotsAfter > 0 {
			least = besideBots(t)
		}
		// One of the sizes that the team's step allows.
		steps := (t.Max - least) / t.Step
		g.freePlaces = append(g.freePlaces, least+t.Step*[]int{0, steps, g.random.IntN(steps + 1)}[like])
	}
}

// drawOrder draws a ticket and returns all in a random order after it, or those first whose skill is near. Half of the
// time it leaves out the older ones, whose rules may be wider.
func (g *guesser) drawOrder() []int {
	order := g.random.Perm(len(g.queuedTickets))
	first := &g.queuedTickets[order[0]]
	if g.random.IntN(2) == 0 {
		attribute := []string{"skill", ""}[g.random.IntN(2)]
		noise := 200 * g.random.Float64()
		distance := make([]float64, len(g.queuedTickets))
		for i := range g.queuedTickets {
			distance[i] = math.Abs(numberOf(&g.queuedTickets[i], attribute)-numberOf(first, attribute)) +
				noise*g.random.Float64()
		}
		slices.SortStableFunc(order[1:], func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
	}
	if g.random.IntN(2) == 0 {
		order = slices.DeleteFunc(order, func(i int) bool { return g.queuedTickets[i].Created.Before(first.Created) })
	}
	return order
}

// numberOf returns the number of the first player, which is near enough for an order.
func numberOf(t *match.Ticket, attribute string) float64 {
	return t.Players[0].Attributes[attribute].Number
}

// seatRoles seats players who would take the roles that a team has to have.
func (g *guesser) seatRoles(order []int) {
	for team, t := range g.p.Teams {
		for _, role := range t.Roles {
			for _, i := range order {
				if g.vacantPlaces(team, role) == 0 {
					break
				}
				if slices.ContainsFunc(g.queuedTickets[i].Players,
					func(p match.Player) bool { return takesRole(p, role.Name) }) {
					g.seatTicket(i, team)
				}
			}
		}
	}
}

// takesRole leaves out what autofill adds: a guess may miss such a match.
func takesRole(p match.Player, role string) bool {
	return slices.Contains(textsOf(p.Attributes["role"]), role)
}

// vacantPlaces returns how many players with a role a team still has to have.
func (g *guesser) vacantPlaces(team int, role profile.Role) int {
	n := role.Min
	for _, s := range g.triedMatch.Seats {
		if s.Team == g.p.Teams[team].Name && s.Role == role.Name {
			n--
		}
	}
	return max(0, n)
}

// seatTicket seats the i-th ticket in a team, with the first vacant role that each of its players takes, if no rule is
// broken for good.
func (g *guesser) seatTicket(i, team int) bool {
	t := &g.queuedTickets[i]
	if g.freePlaces[team] < len(t.Players) ||
		slices.ContainsFunc(g.triedMatch.Tickets, func(o match.Ticket) bool { return o.ID == t.ID }) {
		return false
	}
	before := len(g.triedMatch.Seats)
	g.triedMatch.Tickets = append(g.triedMatch.Tickets, *t)
	for _, p := range t.Players {
		seat := Seat{Ticket: t.ID, Sub: p.Sub, Team: g.p.Teams[team].Name}
		for _, role := range g.p.Teams[team].Roles {
			if seat.Role == "" && takesRole(p, role.Name) && g.vacantPlaces(team, role) > 0 {
				seat.Role = role.Name
			}
		}
		g.triedMatch.Seats = append(g.triedMatch.Seats, seat)
	}
	if g.rulesHold() {
		g.freePlaces[team] -= len(t.Players)
		return true
	}
	g.triedMatch.Tickets = g.triedMatch.Tickets[:len(g.triedMatch.Tickets)-1]
	g.triedMatch.Seats = g.triedMatch.Seats[:before]
	return false
}

func (g *guesser) rulesHold() bool {
	game := newGame(g.p, g.triedMatch, g.now)
	return len(game.checkOnce()) == 0 && len(game.checkMode()) == 0 && len(game.checkRules(g.firmRules)) == 0
}
