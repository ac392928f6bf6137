package verify

import (
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Candidate returns why the ticket is no candidate of the profile; nil: it is one.
func Candidate(p *profile.Profile, t match.Ticket) (found []Violation) {
	if len(t.Players) == 0 {
		found = append(found, newViolation("candidate", "ticket %s has no players", t.ID))
	}
	if p.Pool != nil && !p.Pool.Holds(t.Fields) {
		found = append(found, newViolation("candidate", "the pool does not hold ticket %s", t.ID))
	}
	names := slices.Contains(t.Profiles, p.Name)
	// Without a pool, a profile has only the tickets that name it.
	if !names && (len(t.Profiles) > 0 || p.Pool == nil) {
		found = append(found, newViolation("candidate", "ticket %s does not ask for the profile", t.ID))
	}
	for _, player := range t.Players {
		if names {
			found = append(found, lackedAttributes(p, t, player)...)
		}
	}
	return found
}

// lackedAttributes returns the declared attributes without a default that a player does not have.
func lackedAttributes(p *profile.Profile, t match.Ticket, player match.Player) (found []Violation) {
	for name, a := range p.Attributes {
		// A value of a weak source is refused even where the default would do.
		if v := player.Attributes[name]; v.Kind != 0 && player.SourceOf(name) < a.From {
			found = append(found, newViolation("candidate",
				"a %s vouches for %s of player %s of ticket %s: the profile asks for a %s",
				player.SourceOf(name), name, player.Sub, t.ID, a.From))
		}
		if a.Default == nil && player.Attributes[name].Kind != a.Kind {
			found = append(found, newViolation("candidate", "player %s of ticket %s lacks %s", player.Sub, t.ID, name))
		}
	}
	return found
}

func (g *game) checkCandidates() (found []Violation) {
	for _, t := range g.match.Tickets {
		found = append(found, Candidate(g.p, t)...)
	}
	return found
}

// checkParties checks that each ticket is seated with all of its players and nobody else is.
func (g *game) checkParties() (found []Violation) {
	if len(g.match.Tickets) == 0 {
		return []Violation{newViolation("whole", "the match has no tickets")}
	}
	// By ticket and player: a player may have two tickets in a broken match, which checkOnce reports.
	left := map[[2]string]int{}
	for _, t := range g.match.Tickets {
		for _, p := range t.Players {
			left[[2]string{t.ID, p.Sub}]++
		}
	}
	for _, s := range g.match.Seats {
		left[[2]string{s.Ticket, s.Sub}]--
	}
	for player, n := range left {
		if n != 0 {
			found = append(found, newViolation("whole", "player %s of ticket %s has %d seats instead of 1", player[1],
				player[0], 1-n))
		}
	}
	return found
}

// checkOnce checks that no player is in the match twice, whatever tickets it has, and no ticket is.
func (g *game) checkOnce() (found []Violation) {
	players, tickets := map[string]bool{}, map[string]bool{}
	for _, m := range g.members {
		if players[m.seat.Sub] {
			found = append(found, newViolation("once", "player %s is in the match twice", m.seat.Sub))
		}
		players[m.seat.Sub] = true
	}
	for _, t := range g.match.Tickets {
		if tickets[t.ID] {
			found = append(found, newViolation("once", "ticket %s is in the match twice", t.ID))
		}
		tickets[t.ID] = true
	}
	return found
}

// checkMode checks that a profile with modes has a session of one that all tickets allow.
func (g *game) checkMode() []Violation {
	// A mode is chosen with the server; until then it is enough that one is possible.
	if g.match.Mode != "" && !slices.Contains(g.p.Modes, g.match.Mode) {
		return []Violation{newViolation("mode", "%q is no mode of the profile", g.match.Mode)}
	}
	if len(g.p.Modes) == 0 || slices.ContainsFunc(g.p.Modes, g.allowsMode) {
		return nil
	}
	return []Violation{newViolation("mode", "no mode is allowed by all players")}
}

// allowsMode reports whether all players allow the mode, and the match has it or none yet.
func (g *game) allowsMode(mode string) bool {
	if g.match.Mode != "" && g.match.Mode != mode {
		return false
	}
	return !slices.ContainsFunc(g.members, func(m member) bool {
		modes, ok := g.ownValue("modes", m)
		// A player without the attribute plays every mode; those of the roster play this one already.
		return ok && !m.isSeated && !slices.Contains(textsOf(modes), mode)
	})
}
