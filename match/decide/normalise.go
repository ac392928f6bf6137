package decide

import (
	"math"
	"slices"
	"strings"
	"unique"

	"github.com/lattice-director/director/match"
)

// normalise makes a candidate of a ticket that lacks nothing.
func (pl *plan) normalise(t *match.Ticket, regions *regionSet) *candidate {
	n := len(t.Players)
	c := &candidate{ticket: t, created: t.Created.UnixNano(), size: n, modes: pl.modesOf(t)}
	for i := range c.slots {
		c.slots[i] = absent
	}
	for i := range t.Players {
		c.subs |= 1 << (hash(t.Players[i].Sub) % 64)
	}
	c.numbers = fill(pl.numbers, t, pl.numberOf)
	c.atoms = fill(pl.atoms, t, pl.atomOf)
	c.lists = fill(pl.lists, t, pl.listOf)
	pl.addRoles(c)
	pl.addTraits(c)
	c.kind = kindOf(c)
	c.values = pl.valuesOf(c)
	regions.measure(c)
	c.turn = c.created - int64(pl.headStart(c))
	pl.place(c)
	return c
}

func fill[V any](columns []column, t *match.Ticket, value func(*column, *match.Player) V) []V {
	if len(columns) == 0 {
		return nil
	}
	to := make([]V, 0, len(columns)*len(t.Players))
	for i := range columns {
		for j := range t.Players {
			to = append(to, value(&columns[i], &t.Players[j]))
		}
	}
	return to
}

// place computes where the candidate is along the pivot.
func (pl *plan) place(c *candidate) {
	if pl.pivot.column < 0 {
		c.key = float64(c.turn)
		return
	}
	c.low, c.high = pl.pivot.span(c)
	if c.low > c.high { // all left out
		c.low, c.high = 0, 0
	}
	c.key = float64(c.low/2) + float64(c.high/2)
}

// resolve returns what a column compares of a player's attribute.
func (pl *plan) resolve(c *column, p *match.Player) (match.Value, bool) {
	v, ok := pl.value(p, c.attribute)
	if !ok && c.missing.Value != nil {
		return *c.missing.Value, true
	}
	return v, ok
}

func (pl *plan) numberOf(c *column, p *match.Player) float64 {
	v, ok := pl.resolve(c, p)
	switch {
	case c.present && c.attribute == "":
		return 1
	case !ok:
		return math.NaN()
	case c.present:
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

func (pl *plan) atomOf(c *column, p *match.Player) atom {
	v, ok := pl.resolve(c, p)
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
		b.WriteString(strings.ReplaceAll(s, "\x00", "\x00\x01"))
		b.WriteString("\x00\x02")
	}
	return b.String()
}

func (pl *plan) listOf(c *column, p *match.Player) []text {
	v, ok := pl.resolve(c, p)
	if !ok {
		return nil
	}
	list := v.List
	if v.Kind == match.Text {
		list = []string{v.Text}
	} else if v.Kind != match.List {
		return nil
	}
	texts := make([]text, 0, len(list))
	for _, s := range list {
		texts = append(texts, unique.Make(s))
	}
	return texts
}

// roleAttribute lists the roles that a player would take, and modesAttribute the modes that it would play.
const (
	roleAttribute  = "role"
	modesAttribute = "modes"
)

func (pl *plan) addRoles(c *candidate) {
	if len(pl.roles) == 0 {
		return
	}
	c.roles = make([][]uint8, c.size)
	for i := range c.ticket.Players {
		v, _ := pl.value(&c.ticket.Players[i], roleAttribute)
		for _, name := range texts(&v) {
			role := pl.role(name)
			if role < 0 || slices.Contains(c.roles[i], uint8(role)) || !pl.suits(c, i, role) {
				continue
			}
			c.roles[i] = append(c.roles[i], uint8(role))
		}
	}
}

// addTraits counts the players of a candidate that have each trait. Those of a party in one team count only as far as a team needs them.
func (pl *plan) addTraits(c *candidate) {
	if len(pl.traitNeeds) == 0 {
		return
	}
	c.traits = make([]uint8, len(pl.traitNeeds))
	for _, roles := range c.roles {
		for _, role := range roles {
			c.traits[role]++
		}
	}
	for role, most := range pl.roleMost {
		if !pl.split {
			c.traits[role] = min(c.traits[role], uint8(most))
		}
	}
	for i, column := range pl.counted {
		c.traits[len(pl.roles)+i] = uint8(ones(c.column(column)))
	}
}

// takeAnyRole makes the players of a ticket that has waited for so long take the roles that they did not name, after those that they did.
func (pl *plan) takeAnyRole(c *candidate) {
	c.autofilled = true
	for i := range c.roles {
		roles := slices.Clone(c.roles[i])
		for role := range pl.roles {
			if !slices.Contains(roles, uint8(role)) && pl.suits(c, i, role) {
				roles = append(roles, uint8(role))
			}
		}
		c.roles[i] = roles
	}
	pl.addTraits(c)
	c.kind = kindOf(c)
}

// suits reports whether a player has what the rules need of those in a role.
func (pl *plan) suits(c *candidate, player, role int) bool {
	for kind, columns := range [][]column{pl.numbers, pl.atoms, pl.lists} {
		for i := range columns {
			needed := columns[i].role == role && !columns[i].optional
			if needed && !pl.comparable(&columns[i], kind, &c.ticket.Players[player]) {
				return false
			}
		}
	}
	return true
}

// modesOf returns a bit for each of the profile's modes that all players allow.
func (pl *plan) modesOf(t *match.Ticket) uint8 {
	allowed := pl.modes
	for i := range t.Players {
		v, ok := pl.value(&t.Players[i], modesAttribute)
		if !ok {
			continue
		}
		for mode, name := range pl.profile.Modes {
			if !slices.Contains(texts(&v), name) {
				allowed &^= 1 << mode
			}
		}
	}
	return allowed
}

// texts returns a list's texts, and a text as a list of one.
func texts(v *match.Value) []string {
	if v.Kind == match.Text {
		return []string{v.Text}
	}
	return v.List
}
