package profile

import "slices"

// LeastSteps returns the steps from which teams may be smaller: those of Fewer, then that from which bots fill teams.
func (p *Profile) LeastSteps() []Fewer {
	if p.BotsAfter == 0 {
		return p.Fewer
	}
	least := make(map[string]int, len(p.Teams))
	for _, t := range p.Teams {
		least[t.Name] = t.leastBesideBots()
	}
	// Clipped, so that append copies: a profile is shared and must not change.
	return append(slices.Clip(p.Fewer), Fewer{AfterWait: p.BotsAfter, Players: least})
}

// leastBesideBots returns how many players a team has at least where bots fill it: none, or those that its roles need,
// since bots take no role. A team with a step keeps its sizes.
func (t Team) leastBesideBots() int {
	needed := 0
	for _, role := range t.Roles {
		needed += role.Min
	}
	// The least size that whole steps down from Min reach, which may be 0.
	least := t.Min % max(t.Step, 1)
	for least < needed {
		least += max(t.Step, 1)
	}
	return least
}

// FillTo returns the number of players to which bots fill each team of a match with teams of these sizes, by name. Nil:
// bots fill none, since without them the match was large enough.
func (p *Profile) FillTo(players map[string]int) map[string]int {
	// A match that a step of fewer allows without bots has none: its author wants smaller matches.
	if p.BotsAfter == 0 || !p.isShort(players) {
		return nil
	}
	to := make(map[string]int, len(p.Teams))
	for _, t := range p.Teams {
		// Only to the least size of a match without bots: the places above it are for players.
		to[t.Name] = t.Min
	}
	return to
}

// isShort reports whether a team has fewer players than every step of Fewer asks for.
func (p *Profile) isShort(players map[string]int) bool {
	for _, t := range p.Teams {
		least := t.Min
		for _, f := range p.Fewer {
			if n, named := f.Players[t.Name]; named {
				least = min(least, n)
			}
		}
		if players[t.Name] < least {
			return true
		}
	}
	return false
}
