package verify

import (
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// entry is a value that a rule compares: a player's, or what the rule folds a party's into.
type entry struct {
	ticket     string
	holderName string   // the player, or the ticket for a party's
	teamNames  []string // where the player is or, of a party's, its players are
	value      match.Value
}

// comparedEntries returns what the rule compares of an attribute. Players without it are left out: checkAbsent reports
// them if the rule does not allow that.
func (c *checker) comparedEntries(r profile.Rule, attribute string, kinds ...match.Kind) []entry {
	return c.entriesByRole(r, attribute, nil, kinds...)
}

// entriesByRole is comparedEntries with other attributes for players in some roles.
func (c *checker) entriesByRole(r profile.Rule, attribute string, byRole []profile.RoleAttribute,
	kinds ...match.Kind) []entry {
	var ofPlayers []entry
	for _, m := range c.countedMembers(r) {
		if v, ok := c.comparedValue(r, attributeInRole(m, attribute, byRole), m, kinds); ok {
			ofPlayers = append(ofPlayers, playerEntry(m, v))
		}
	}
	return foldParties(r.Party, ofPlayers)
}

func playerEntry(m member, v match.Value) entry {
	return entry{ticket: m.seat.Ticket, holderName: m.seat.Sub, teamNames: []string{m.seat.Team}, value: v}
}

// foldParties makes one entry of those of each party, where the fold combines values of that kind.
func foldParties(by profile.Fold, ofPlayers []entry) (folded []entry) {
	parties := map[string][]entry{} // by ticket
	for _, e := range ofPlayers {
		if foldsKind(by, e.value.Kind) {
			parties[e.ticket] = append(parties[e.ticket], e)
		}
	}
	for _, e := range ofPlayers {
		if !foldsKind(by, e.value.Kind) {
			folded = append(folded, e)
			continue
		}
		// The party's entry takes the place of that of its first player.
		if party := parties[e.ticket]; party != nil {
			folded = append(folded, partyEntry(by, party))
			delete(parties, e.ticket)
		}
	}
	return folded
}

// partyEntry makes one entry of those of a party's players.
func partyEntry(by profile.Fold, party []entry) entry {
	ticket := party[0].ticket
	made := entry{ticket: ticket, holderName: ticket, value: foldValues(by, party)}
	for _, e := range party {
		made.teamNames = append(made.teamNames, e.teamNames...)
	}
	return made
}

// teamScopes returns the teams in each of which a rule must hold on its own, or "" for the whole match.
func (c *checker) teamScopes(r profile.Rule) []string {
	if r.PerTeam {
		return c.teamNames()
	}
	return []string{""}
}

// entriesOf returns the entries of a team; of "" all.
func entriesOf(entries []entry, team string) []entry {
	return slices.DeleteFunc(slices.Clone(entries),
		func(e entry) bool { return team != "" && !slices.Contains(e.teamNames, team) })
}

func numbersOf(entries []entry) (numbers []float64) {
	for _, e := range entries {
		numbers = append(numbers, e.value.Number)
	}
	return numbers
}

// textsOf returns a list's texts, or the one of a text.
func textsOf(v match.Value) []string {
	switch v.Kind {
	case match.Text:
		return []string{v.Text}
	case match.List:
		return v.List
	default: // match.Number, or none
		return nil
	}
}
