package profile

import "fmt"

// valueColumn is the values that a rule compares: those of an attribute, as the rule takes them. Two rules with equal
// columns compare the same values. The zero column is the players themselves.
type valueColumn struct {
	kind      columnKind
	attribute string
	byRole    string // the attributes by role, as text, which makes columns comparable
	standIn   string // the value for players without one, as Go writes it; "": none
	leavesOut bool   // the rule leaves out players without a value
	party     Fold   // how the values of a party become one
}

// columnKind is what the values of a column are.
type columnKind uint8

const (
	noValues        columnKind = iota // the players themselves
	anyValues                         // of any type
	numberValues                      // a value that is no number counts as missing
	regionLatencies                   // to the game region of the match
)

// latencyColumn is the column of the latencies to the game region of the match.
var latencyColumn = valueColumn{kind: regionLatencies}

// String identifies a column within the names of quantities.
func (c valueColumn) String() string {
	return fmt.Sprintf("%d %q %s %q %t %d", c.kind, c.attribute, c.byRole, c.standIn, c.leavesOut, c.party)
}

// ruleColumn returns the column of a rule's own attribute.
func (s *satisfier) ruleColumn(r *Rule) valueColumn {
	return s.columnOf(r, r.Attribute, r.ByRole, r.comparesNumbers())
}

// columnOf returns the column of an attribute of a rule.
func (s *satisfier) columnOf(r *Rule, attribute string, byRole []RoleAttribute, takesNumbers bool) valueColumn {
	c := valueColumn{kind: anyValues, attribute: attribute, party: r.Party}
	has := s.presenceByAttribute[attribute]
	// Where every value is a number, rules on any type compare the same values as rules on numbers.
	if takesNumbers || has.asNumber {
		c.kind = numberValues
	}
	nobodyLacksIt := has.asValue
	if takesNumbers {
		nobodyLacksIt = has.asNumber
	}
	// Presence is known of one attribute, and not of those that count by role.
	if len(byRole) > 0 {
		c.byRole, nobodyLacksIt = fmt.Sprintf("%q", byRole), false
	}
	// Two rules compare the same values, whatever they say about players without one.
	if nobodyLacksIt {
		return c
	}
	// Also beside a stand-in: a preference that has one leaves out players with a value of another type.
	c.leavesOut = r.Missing.Pass
	if r.Missing.Value != nil {
		c.standIn = fmt.Sprintf("%#v", canonicalValue(*r.Missing.Value))
	}
	return c
}

// comparesNumbers reports whether a value that is no number counts as missing.
func (r *Rule) comparesNumbers() bool {
	return r.Kind == Near || r.Kind == Balance || r.Kind == Comparison
}
