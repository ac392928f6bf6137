package decide

import (
	"math"
	"slices"
	"strings"
	"unique"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// column is an attribute of players as a rule wants it.
type column struct {
	ruleID         string
	attribute      string
	missing        profile.Missing
	onlyRole       int      // only of players in that role; anyRole
	isOptional     bool     // players without it are left out, and their ticket is a candidate
	anyOf          []string // the number is 1 for players that have one of these, 0 for others
	countsPresence bool     // the number is 1 for players that have a value of any type, without an attribute for all
}

// columnType says what a column holds.
type columnType int

const (
	ofNumbers columnType = iota
	ofAtoms
	ofLists
)

// equalsColumn compares all but the rule, which only names the column in the reasons of a ticket that lacks it.
func (c *column) equalsColumn(o *column) bool {
	return c.attribute == o.attribute && c.missing.Pass == o.missing.Pass &&
		equalStandIns(c.missing.Value, o.missing.Value) && c.onlyRole == o.onlyRole &&
		c.isOptional == o.isOptional && c.countsPresence == o.countsPresence &&
		(c.anyOf == nil) == (o.anyOf == nil) && // an empty list counts players, none takes their numbers
		slices.Equal(c.anyOf, o.anyOf)
}

// equalStandIns reports whether the values that stand in for missing ones are equal; nil: none does.
func equalStandIns(a, b *match.Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Number == b.Number && a.Text == b.Text && slices.Equal(a.List, b.List)
}

// addColumn returns the index of the column that is like c, which it adds if there is none. Rules that compare the same
// attribute in the same way share a column, so that each candidate holds its values once.
func addColumn(columns *[]column, c column) int {
	for i := range *columns {
		if (*columns)[i].equalsColumn(&c) {
			return i
		}
	}
	*columns = append(*columns, c)
	return len(*columns) - 1
}

// valueOf returns a player's value of an attribute: its own if it has the declared type, else the profile's default.
func valueOf(p *profile.Profile, player *match.Player, attribute string) (v match.Value, ok bool) {
	declared, isDeclared := p.Attributes[attribute]
	v, ok = player.Attributes[attribute]
	if ok && (!isDeclared || v.Kind == declared.Kind) {
		return v, true
	}
	if isDeclared && declared.Default != nil {
		return *declared.Default, true
	}
	return match.Value{}, false
}

// resolveValue returns what a column compares of a player's attribute.
func (c *column) resolveValue(p *profile.Profile, player *match.Player) (match.Value, bool) {
	v, ok := valueOf(p, player, c.attribute)
	if !ok && c.missing.Value != nil {
		return *c.missing.Value, true
	}
	return v, ok
}

// numberOf returns a player's number in the column; NaN if the player has none.
func (c *column) numberOf(p *profile.Profile, player *match.Player) float64 {
	v, ok := c.resolveValue(p, player)
	switch {
	// A measure of the number of players counts all.
	case c.countsPresence && c.attribute == "":
		return 1
	case !ok:
		return math.NaN()
	case c.countsPresence:
		return 1
	case c.anyOf != nil:
		return countsAs(c.anyOf, &v)
	case v.Kind == match.Number:
		return v.Number
	}
	return math.NaN()
}

// countsAs returns 1 for a value that is or lists one of the texts, 0 for another, and NaN for one without texts.
func countsAs(texts []string, v *match.Value) float64 {
	switch v.Kind {
	case match.Text:
		if slices.Contains(texts, v.Text) {
			return 1
		}
	case match.List:
		if slices.ContainsFunc(v.List, func(s string) bool { return slices.Contains(texts, s) }) {
			return 1
		}
	case match.Number:
		return math.NaN()
	}
	return 0
}

// atomOf returns a player's value in the column; the zero atom if the player has none.
func (c *column) atomOf(p *profile.Profile, player *match.Player) atom {
	v, ok := c.resolveValue(p, player)
	if !ok {
		return atom{}
	}
	switch v.Kind {
	case match.Number:
		return unique.Make(atomValue{kind: match.Number, number: v.Number})
	case match.Text:
		return unique.Make(atomValue{kind: match.Text, text: v.Text})
	case match.List:
		return unique.Make(atomValue{kind: match.List, text: joinList(v.List)})
	}
	return atom{}
}

// joinList makes one text of a list; no two lists make the same.
func joinList(list []string) string {
	var b strings.Builder
	for _, s := range list {
		// Zero bytes are escaped, so that the mark at the end of a text cannot be part of one.
		b.WriteString(strings.ReplaceAll(s, "\x00", "\x00\x01"))
		b.WriteString("\x00\x02")
	}
	return b.String()
}

// listOf returns a player's list in the column; nil if the player has none. An empty list is not nil: its player shares
// no value with anybody, while one without a list may be left out.
func (c *column) listOf(p *profile.Profile, player *match.Player) []text {
	v, ok := c.resolveValue(p, player)
	if !ok {
		return nil
	}
	if v.Kind != match.Text && v.Kind != match.List {
		return nil
	}
	list := listTexts(&v)
	texts := make([]text, 0, len(list))
	for _, s := range list {
		texts = append(texts, unique.Make(s))
	}
	return texts
}

// isComparable reports whether a player has a value that a column of a type can hold.
func (c *column) isComparable(ofType columnType, p *profile.Profile, player *match.Player) bool {
	switch ofType {
	case ofNumbers:
		return !math.IsNaN(c.numberOf(p, player))
	case ofAtoms:
		return c.atomOf(p, player) != atom{}
	default:
		return c.listOf(p, player) != nil
	}
}

// listTexts returns a list's texts, and a text as a list of one.
func listTexts(v *match.Value) []string {
	if v.Kind == match.Text {
		return []string{v.Text}
	}
	return v.List
}
