package simulate

import (
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// fillAttributes draws the attributes of a player of a party.
func (f *fields) fillAttributes(m *maker, a match.Attributes, group party) {
	for _, name := range f.sortedNames {
		switch f.drawnKinds[name] {
		case match.Number:
			a[name] = match.Value{Kind: match.Number, Number: m.drawNumber(name, group)}
		case match.Text:
			a[name] = match.Value{Kind: match.Text, Text: f.drawText(m, name)}
		case match.List:
			a[name] = match.Value{Kind: match.List, List: f.drawList(m, name)}
		}
	}
	if len(f.roles) == 0 {
		return
	}
	roles := f.someRoles(m)
	// Where the profile declares a text, a list would count as no value. The player prefers the first role.
	if f.declaredKinds[profile.AttributeRole] == match.Text {
		a[profile.AttributeRole] = match.Value{Kind: match.Text, Text: roles[0]}
		return
	}
	a[profile.AttributeRole] = match.Value{Kind: match.List, List: roles}
}

// drawText draws a word of an attribute.
func (f *fields) drawText(m *maker, name string) string {
	if shares := m.options.Texts[name]; len(shares) > 0 {
		return m.drawShare(shares).Name
	}
	return f.drawWord(name, m.random.IntN(vocabulary))
}

// drawList draws up to three words in an order of preference.
func (f *fields) drawList(m *maker, name string) (list []string) {
	if shares := m.options.Texts[name]; len(shares) > 0 {
		return m.drawSome(shares, 3)
	}
	for _, n := range m.random.Perm(vocabulary)[:3] {
		// drawWord repeats a short vocabulary: a word that is drawn again is left out.
		if word := f.drawWord(name, n); !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}

// someRoles draws which roles a player would take: one, and each other one with a probability of a quarter.
func (f *fields) someRoles(m *maker) []string {
	var roles []string
	if shares := m.options.Texts[profile.AttributeRole]; len(shares) > 0 {
		roles = []string{m.drawShare(shares).Name}
	} else {
		roles = []string{f.roles[m.random.IntN(len(f.roles))]}
	}
	for _, r := range f.roles {
		if r != roles[0] && m.random.IntN(4) == 0 {
			roles = append(roles, r)
		}
	}
	return roles
}
