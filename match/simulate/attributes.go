package simulate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// fields are the fields of a profile's tickets: the attributes that its rules compare, and those that its pool filters by.
type fields struct {
	kinds  map[string]match.Kind
	words  map[string][]string // of texts and lists, those that the profile names
	names  []string            // of kinds, sorted
	roles  []string
	search match.Fields
}

func fieldsOf(p *profile.Profile) fields {
	f := fields{kinds: map[string]match.Kind{}, words: map[string][]string{}}
	f.rules(p.Rules)
	for _, o := range p.Order {
		f.number(o.Distance, o.Value)
	}
	f.number(p.Batch.By)
	for name, a := range p.Attributes {
		f.kinds[name] = a.Kind
	}
	for _, t := range p.Teams {
		for _, r := range t.Roles {
			if !slices.Contains(f.roles, r.Name) {
				f.roles = append(f.roles, r.Name)
			}
		}
	}
	delete(f.kinds, "role")  // drawn from the roles
	delete(f.kinds, "modes") // missing: any
	delete(f.kinds, "")
	f.names = slices.Sorted(maps.Keys(f.kinds))
	f.pool(p.Pool)
	return f
}

func (f *fields) number(names ...string) {
	for _, name := range names {
		f.kinds[name] = match.Number
	}
}

func (f *fields) rules(rules []profile.Rule) {
	for i := range rules {
		r := &rules[i]
		switch r.Kind {
		case profile.Near, profile.Balance:
			f.number(r.Attribute)
		case profile.Same, profile.Different:
			f.kinds[r.Attribute] = match.Text
		case profile.Common, profile.Count, profile.Avoid:
			f.kinds[r.Attribute] = match.List
			f.words[r.Attribute] = append(f.words[r.Attribute], r.AnyOf...)
		case profile.Comparison:
			f.number(r.Compare.Measure.Of)
			if r.Compare.To != nil {
				f.number(r.Compare.To.Of)
			}
		case profile.Sizes, profile.PartySizes, profile.Latency, profile.Or, profile.And, profile.Not:
		}
		if r.Kind == profile.Avoid {
			delete(f.kinds, r.Attribute) // nobody avoids anybody
		}
		f.rules(r.Rules)
	}
}

// pool sets the fields so that the pool admits every ticket.
func (f *fields) pool(p *match.Pool) {
	f.search = match.Fields{Doubles: map[string]float64{}, Strings: map[string]string{}}
	if p == nil {
		return
	}
	f.search.Tags = p.Tags
	for _, s := range p.Strings {
		f.search.Strings[s.Arg] = s.Value
	}
	for _, d := range p.Doubles {
		f.search.Doubles[d.Arg] = min(d.Max, max(d.Min, 0))
	}
}

// vocabulary is the number of words of an attribute for which the profile names none.
const vocabulary = 5

// fill draws the attributes of a player.
func (f *fields) fill(m *maker, a match.Attributes, level float64) {
	for _, name := range f.names {
		switch f.kinds[name] {
		case match.Number:
			a[name] = match.Value{Kind: match.Number, Number: m.skill(level)}
		case match.Text:
			a[name] = match.Value{Kind: match.Text, Text: f.word(name, m.random.IntN(vocabulary))}
		case match.List:
			a[name] = match.Value{Kind: match.List, List: f.list(m, name)}
		}
	}
	if len(f.roles) > 0 {
		a["role"] = match.Value{Kind: match.List, List: f.someRoles(m)}
	}
}

func (f *fields) word(name string, n int) string {
	if words := f.words[name]; len(words) > 0 {
		return words[n%len(words)]
	}
	return fmt.Sprintf("%s-%d", name, n+1)
}

// list draws three words in an order of preference.
func (f *fields) list(m *maker, name string) (list []string) {
	for _, n := range m.random.Perm(vocabulary)[:3] {
		if word := f.word(name, n); !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}

// someRoles draws which roles a player would take: one, and each other one with a probability of a quarter.
func (f *fields) someRoles(m *maker) []string {
	favourite := m.random.IntN(len(f.roles))
	roles := []string{f.roles[favourite]}
	for i, r := range f.roles {
		if i != favourite && m.random.IntN(4) == 0 {
			roles = append(roles, r)
		}
	}
	return roles
}
