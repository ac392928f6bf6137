package verify

import (
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// The kinds of values that rules compare.
var (
	numbers  = []match.Kind{match.Number}
	texts    = []match.Kind{match.Text, match.List} // a text is a list of one
	anything = []match.Kind{match.Number, match.Text, match.List}
)

// kindsOf returns the types of values that a kind of rule can compare.
func kindsOf(k profile.RuleKind) []match.Kind {
	switch k {
	case profile.Near, profile.Balance, profile.Comparison:
		return numbers
	case profile.Common, profile.Avoid, profile.Count:
		return texts
	default:
		return anything
	}
}

// countedMembers returns the players that a rule is about: all, or those who fill its role.
func (c *checker) countedMembers(r profile.Rule) []member {
	return slices.DeleteFunc(c.membersIn(""), func(m member) bool { return r.Role != "" && m.seat.Role != r.Role })
}

// attributeInRole returns the attribute that counts for a player in the role that it has.
func attributeInRole(m member, attribute string, byRole []profile.RoleAttribute) string {
	for _, by := range byRole {
		if by.Role == m.seat.Role {
			return by.Attribute
		}
	}
	return attribute
}

// comparedValue returns what a rule compares of a player: its attribute, the profile's default, or what the rule puts
// in its place; false: nothing that is of one of the kinds.
func (c *checker) comparedValue(r profile.Rule, attribute string, m member, kinds []match.Kind) (match.Value, bool) {
	v, ok := c.ownValue(attribute, m)
	if !ok && r.Missing.Value != nil {
		v = *r.Missing.Value
	}
	return v, slices.Contains(kinds, v.Kind)
}

// ownValue returns a player's attribute or, where the player has none of the declared type, the profile's default;
// false: there is neither.
func (c *checker) ownValue(attribute string, m member) (match.Value, bool) {
	v, ok := m.attributes[attribute]
	declared, isDeclared := c.p.Attributes[attribute]
	if !isDeclared || v.Kind == declared.Kind {
		return v, ok
	}
	// A value of another type counts as none.
	if declared.Default == nil {
		return match.Value{}, false
	}
	return *declared.Default, true
}

// checkAbsent checks that the rules, and those inside, can compare each player or leave it out. The ticket of another
// player is no candidate, however the rule is composed and whether or not it has ended.
func (c *checker) checkAbsent(rules []profile.Rule) (found []Violation) {
	for _, r := range rules {
		found = append(found, c.checkAbsent(r.Rules)...)
		if r.Missing.Pass {
			continue
		}
		for _, needed := range neededAttributes(r) {
			for _, m := range c.countedMembers(r) {
				if name := c.absentAttribute(r, needed, m); name != "" {
					found = append(found,
						newViolation(r.ID, "player %s has no %s that the rule can compare", m.seat.Sub, name))
				}
			}
		}
	}
	return found
}

// absentAttribute returns the attribute of a player that a rule needs and cannot compare; "": none. The attribute of no
// role is needed, too: which role a player gets is not known before the match.
func (c *checker) absentAttribute(r profile.Rule, needed neededAttribute, m member) string {
	for _, name := range []string{needed.name, attributeInRole(m, needed.name, needed.byRole)} {
		if _, ok := c.comparedValue(r, name, m, kindsOf(r.Kind)); !ok {
			return name
		}
	}
	return ""
}

// neededAttribute is an attribute that a rule compares, with those of players in some roles.
type neededAttribute struct {
	name   string
	byRole []profile.RoleAttribute
}

// neededAttributes returns the attributes that players need for a rule. Where players are counted they need none: those
// without a value do not count.
func neededAttributes(r profile.Rule) (all []neededAttribute) {
	if r.Attribute != "" {
		all = append(all, neededAttribute{r.Attribute, r.ByRole})
	}
	if r.Compare == nil {
		return all
	}
	for _, m := range []*profile.Measure{&r.Compare.Measure, r.Compare.Against} {
		if m != nil && m.Take != profile.FoldCount {
			all = append(all, neededAttribute{m.Attribute, m.ByRole})
		}
	}
	return all
}
