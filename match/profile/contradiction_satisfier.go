package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lattice-director/director/match"
)

// satisfier looks for a way in which all rules of a profile can hold.
type satisfier struct {
	p                *Profile
	presenceByColumn map[string]presence
	effortLeft       int // bounds that may still be looked at
	foundConflict    conflict
}

// maxEffort bounds the search for a contradiction, in bounds that are looked at. Beyond it, rules are accepted.
const maxEffort = 1 << 20

// presence says whether all players of a match have a number, or any value, of an attribute.
type presence struct{ asNumber, asValue bool }

func newSatisfier(p *Profile) *satisfier {
	s := &satisfier{p: p, presenceByColumn: map[string]presence{}, effortLeft: maxEffort}
	for name, a := range p.Attributes {
		if a.Default != nil {
			// The default gives a value to every player who has none.
			s.presenceByColumn[name] = presence{a.Kind == match.Number, true}
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
			has := s.presenceByColumn[name]
			s.presenceByColumn[name] = presence{has.asNumber || r.comparesNumbers(), true}
		}
	}
}

// comparesNumbers reports whether a value that is no number counts as none.
func (r *Rule) comparesNumbers() bool {
	return r.Kind == Near || r.Kind == Balance || r.Kind == Comparison
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

// columnName names the values that a rule compares. Two rules with the same column compare the same values.
func (s *satisfier) columnName(r *Rule) string {
	return s.columnOf(r, r.Attribute, r.ByRole, r.comparesNumbers())
}

// columnOf names the values of an attribute as a rule takes them: by their type, by what it does about players without
// one, and by how it folds parties.
func (s *satisfier) columnOf(r *Rule, attribute string, byRole []RoleAttribute, numbers bool) string {
	has := s.presenceByColumn[attribute]
	missing := fmt.Sprint(canonicalMissing(r.Missing))
	if len(byRole) == 0 && (numbers && has.asNumber || !numbers && has.asValue) {
		// Nobody lacks the value: two rules compare the same values, whatever they say about players without it.
		missing = "fail"
	} else if r.Missing.Pass && r.Missing.Value != nil {
		// A preference with a stand-in leaves out players with a value of another type.
		missing += "\x01pass"
	}
	kind := "value"
	// Where every value is a number, rules on any type compare the same values as rules on numbers.
	if numbers || has.asNumber {
		kind = "number"
	}
	return strings.Join([]string{attribute, fmt.Sprint(byRole), kind, missing, parties.wordFor(r.Party)}, "\x01")
}

// teamIndex returns the index of a team; wholeMatch for "".
func (s *satisfier) teamIndex(name string) int {
	return slices.IndexFunc(s.p.Teams, func(t Team) bool { return t.Name == name })
}

// alwaysHasValue reports whether each match has a value of the group.
func (s *satisfier) alwaysHasValue(g group) bool {
	least, _ := s.playerRange(g.teamIndex, g.roleName)
	// A rule with pass leaves players out, perhaps all of them, and nobody need have measured the region.
	return g.columnName == "" || least > 0 && !strings.Contains(g.columnName, "\x01pass\x01") &&
		g.columnName != latencyColumn
}

// playerRange returns how many players of a team, in a role, a match has.
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
