package profile

import (
	"slices"

	"github.com/lattice-director/director/match"
)

// satisfier looks for a way in which all rules of a profile can hold.
type satisfier struct {
	p                   *Profile
	presenceByAttribute map[string]presence
	effortLeft          int // bounds that may still be looked at
	foundConflict       conflict
}

// maxEffort bounds the search for a contradiction, in bounds that are looked at. Beyond it, rules are accepted.
const maxEffort = 1 << 20

// presence says whether all players of a match have a number, or any value, of an attribute.
type presence struct{ asNumber, asValue bool }

func newSatisfier(p *Profile) *satisfier {
	s := &satisfier{p: p, presenceByAttribute: map[string]presence{}, effortLeft: maxEffort}
	for name, a := range p.Attributes {
		if a.Default != nil {
			// The default gives a value to every player who has none.
			s.presenceByAttribute[name] = presence{a.Kind == match.Number, true}
		}
	}
	s.requireAttributes(p.Rules) // without preferences, which exclude no ticket
	return s
}

// requireAttributes notes the attributes without which a ticket is no candidate: those of any rule that players without
// them fail.
func (s *satisfier) requireAttributes(rules []Rule) {
	for i := range rules {
		r := &rules[i]
		s.requireAttributes(r.Rules)
		// A player without the attribute may be in a match: left out, with a stand-in, or in another role.
		if r.Missing.Pass || r.Missing.Value != nil || r.Role != "" {
			continue
		}
		for _, name := range r.requiredAttributes() {
			has := s.presenceByAttribute[name]
			s.presenceByAttribute[name] = presence{has.asNumber || r.comparesNumbers(), true}
		}
	}
}

// requiredAttributes returns the attributes that players need for the rule. A measure that counts players needs none.
func (r *Rule) requiredAttributes() (names []string) {
	// Attributes by role are not required: a player who lacks one does not get the role.
	if r.Attribute != "" {
		return []string{r.Attribute}
	}
	if r.Compare == nil {
		return nil
	}
	for _, m := range []*Measure{&r.Compare.Measure, r.Compare.Against} {
		if m != nil && m.Attribute != "" && m.Take != FoldCount {
			names = append(names, m.Attribute)
		}
	}
	return names
}

// teamIndex returns the index of a team; wholeMatch for "".
func (s *satisfier) teamIndex(name string) int {
	return slices.IndexFunc(s.p.Teams, func(t Team) bool { return t.Name == name })
}

// alwaysHasValue reports whether each match has a value of the group.
func (s *satisfier) alwaysHasValue(g group) bool {
	switch g.column.kind {
	case noValues:
		return true // a number of players, which is 0 where there is nobody
	case regionLatencies:
		return false // nobody need have measured the region
	default:
		least, _ := s.playerRange(g.teamIndex, g.roleName)
		// A rule that leaves players out may leave out all of them.
		return least > 0 && !g.column.leavesOut
	}
}

// playerRange returns how many players of a team, in a role, a match has. wholeMatch means all teams, and "" all
// players, whatever their role.
func (s *satisfier) playerRange(team int, role string) (least, most int) {
	for i, t := range s.p.Teams {
		if team != wholeMatch && team != i {
			continue
		}
		// The least that any match has: after steps of fewer, and with bots.
		few, many := t.Min, t.Max
		for _, f := range s.p.LeastSteps() {
			if n, ok := f.Players[t.Name]; ok {
				few = min(few, n)
			}
		}
		if role != "" {
			// A team without the role has nobody in it.
			few, many = 0, 0
			for _, r := range t.Roles {
				if r.Name == role {
					few, many = r.Min, min(r.Max, t.Max)
				}
			}
		}
		least, most = least+few, most+many
	}
	return least, most
}
