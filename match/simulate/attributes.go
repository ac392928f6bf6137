package simulate

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// fields are the fields of a profile's tickets: the attributes that its rules compare, and those that its pool filters
// by.
type fields struct {
	kindByName  map[string]match.Kind
	wordsByName map[string][]string // of texts and lists, those that the profile names
	sortedNames []string            // of kinds, sorted
	roles       []string
	poolFields  match.Fields
	// declaredKinds are the types that the profile declares, which tickets must have.
	declaredKinds map[string]match.Kind
}

// roleAttribute lists the roles that a player would take.
const roleAttribute = "role"

const numberKind = match.Number

var kindWords = map[match.Kind]string{match.Number: "number", match.Text: "text", match.List: "list"}

func fieldsOf(p *profile.Profile) fields {
	f := fields{kindByName: map[string]match.Kind{}, wordsByName: map[string][]string{},
		declaredKinds: map[string]match.Kind{}}
	f.addRules(p.Rules)
	f.addRules(p.Preferred())
	for _, o := range p.Order {
		f.addNumbers(o.Distance, o.Value)
	}
	f.addNumbers(p.Batch.Attribute, p.Priority.Attribute)
	for name, a := range p.Attributes {
		f.kindByName[name], f.declaredKinds[name] = a.Kind, a.Kind
	}
	for _, t := range p.Teams {
		for _, r := range t.Roles {
			if !slices.Contains(f.roles, r.Name) {
				f.roles = append(f.roles, r.Name)
			}
		}
	}
	if len(f.roles) > 0 {
		delete(f.kindByName, roleAttribute) // drawn from the roles
	}
	delete(f.kindByName, "modes") // missing: any
	delete(f.kindByName, "")
	f.sortedNames = slices.Sorted(maps.Keys(f.kindByName))
	f.addPool(p.Pool)
	return f
}

func (f *fields) addNumbers(names ...string) {
	for _, name := range names {
		f.kindByName[name] = match.Number
	}
}

func (f *fields) addRules(rules []profile.Rule) {
	for i := range rules {
		r := &rules[i]
		switch r.Kind {
		case profile.Near, profile.Balance, profile.Comparison:
			f.addNumbers(r.Measured()...)
		case profile.Same, profile.Different:
			f.kindByName[r.Attribute] = match.Text
		case profile.Common, profile.Count, profile.Avoid:
			f.kindByName[r.Attribute] = match.List
			f.wordsByName[r.Attribute] = append(f.wordsByName[r.Attribute], r.AnyOf...)
		case profile.Sizes, profile.PartySizes, profile.Latency, profile.Or, profile.And, profile.Not:
		}
		if r.Kind == profile.Avoid {
			delete(f.kindByName, r.Attribute) // nobody avoids anybody
		}
		f.addRules(r.Rules)
	}
}

// addPool sets the fields so that the pool admits every ticket.
func (f *fields) addPool(p *match.Pool) {
	f.poolFields = match.Fields{Doubles: map[string]float64{}, Strings: map[string]string{}}
	if p == nil {
		return
	}
	f.poolFields.Tags = p.Tags
	for _, s := range p.Strings {
		f.poolFields.Strings[s.Arg] = s.Value
	}
	for _, d := range p.Doubles {
		f.poolFields.Doubles[d.Arg] = drawWithin(d)
	}
}

// drawWithin returns a number that a range holds; one that holds none has no candidates, which the report says.
func drawWithin(d match.DoubleRange) float64 {
	low, high := d.Min, d.Max
	if d.Exclude == match.ExcludeMin || d.Exclude == match.ExcludeBoth {
		low = math.Nextafter(low, math.Inf(1))
	}
	if d.Exclude == match.ExcludeMax || d.Exclude == match.ExcludeBoth {
		high = math.Nextafter(high, math.Inf(-1))
	}
	return min(high, max(low, 0))
}

// vocabulary is the number of words of an attribute for which the profile names none.
const vocabulary = 5

// fillAttributes draws the attributes of a player of a party.
func (f *fields) fillAttributes(m *maker, a match.Attributes, of party) {
	for _, name := range f.sortedNames {
		switch f.kindByName[name] {
		case match.Number:
			a[name] = match.Value{Kind: match.Number, Number: m.drawNumber(name, of)}
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
	if f.declaredKinds[roleAttribute] == match.Text {
		a[roleAttribute] = match.Value{Kind: match.Text, Text: roles[0]}
		return
	}
	a[roleAttribute] = match.Value{Kind: match.List, List: roles}
}

func (f *fields) drawWord(name string, n int) string {
	if words := f.wordsByName[name]; len(words) > 0 {
		return words[n%len(words)]
	}
	return fmt.Sprintf("%s-%d", name, n+1)
}

func (f *fields) drawText(m *maker, name string) string {
	if shares := m.options.Texts[name]; len(shares) > 0 {
		return m.drawShare(shares).Name
	}
	return f.drawWord(name, m.random.IntN(vocabulary))
}

// drawList draws three words in an order of preference.
func (f *fields) drawList(m *maker, name string) (list []string) {
	if shares := m.options.Texts[name]; len(shares) > 0 {
		return m.drawSome(shares, 3)
	}
	for _, n := range m.random.Perm(vocabulary)[:3] {
		if word := f.drawWord(name, n); !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}

// drawSome draws at most so many different words.
func (m *maker) drawSome(shares []Share, most int) (list []string) {
	for left := slices.Clone(shares); len(list) < most && len(left) > 0; {
		word := m.drawShare(left).Name
		list = append(list, word)
		left = slices.DeleteFunc(left, func(s Share) bool { return s.Name == word })
	}
	return list
}

// someRoles draws which roles a player would take: one, and each other one with a probability of a quarter.
func (f *fields) someRoles(m *maker) []string {
	var roles []string
	if shares := m.options.Texts[roleAttribute]; len(shares) > 0 {
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
