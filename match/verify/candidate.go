package verify

import (
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// checkCandidates checks that each ticket of the match is a candidate.
func (c *checker) checkCandidates() (found []Violation) {
	for _, t := range c.match.Tickets {
		found = append(found, checkCandidate(c.p, t)...)
	}
	return found
}

// candidatesOf returns the tickets that are candidates of the profile.
func candidatesOf(p *profile.Profile, tickets []match.Ticket) (candidates []match.Ticket) {
	for _, t := range tickets {
		if len(checkCandidate(p, t)) == 0 {
			candidates = append(candidates, t)
		}
	}
	return candidates
}

// checkCandidate returns why the ticket is no candidate of the profile; nil: it is one.
func checkCandidate(p *profile.Profile, t match.Ticket) (found []Violation) {
	if len(t.Players) == 0 {
		found = append(found, newViolation("candidate", "ticket %s has no players", t.ID))
	}
	if p.Pool != nil && !p.Pool.Holds(t.Fields) {
		found = append(found, newViolation("candidate", "the pool does not hold ticket %s", t.ID))
	}
	namesProfile := slices.Contains(t.Profiles, p.Name)
	// Without a pool, a profile has only the tickets that name it.
	if !namesProfile && (len(t.Profiles) > 0 || p.Pool == nil) {
		found = append(found, newViolation("candidate", "ticket %s does not ask for the profile", t.ID))
	}
	// Tickets that are in the pool without naming the profile need not have its attributes.
	if namesProfile {
		for _, player := range t.Players {
			found = append(found, checkDeclared(p, t, player)...)
		}
	}
	return found
}

// checkDeclared checks that a player has each declared attribute that has no default, and each value from a source that
// suffices.
func checkDeclared(p *profile.Profile, t match.Ticket, player match.Player) (found []Violation) {
	for name, declared := range p.Attributes {
		value := player.Attributes[name]
		// A value of a weak source is refused even where the default would do.
		if value.Kind != 0 && player.SourceOf(name) < declared.From {
			found = append(found, newViolation("candidate",
				"a %s vouches for %s of player %s of ticket %s: the profile asks for a %s",
				player.SourceOf(name), name, player.Sub, t.ID, declared.From))
		}
		if declared.Default == nil && value.Kind != declared.Kind {
			found = append(found, newViolation("candidate", "player %s of ticket %s lacks %s", player.Sub, t.ID, name))
		}
	}
	return found
}
