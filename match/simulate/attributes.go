package simulate

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// fields are the fields of a profile's tickets: the attributes that its rules compare, and those that its pool filters
// by.
type fields struct {
	drawnKinds  map[string]match.Kind // of the attributes that are drawn, by name; without the roles
	wordsByName map[string][]string   // the words of texts and lists that the profile names, by attribute
	sortedNames []string              // of drawnKinds, sorted
	roles       []string
	poolFields  match.Fields
	// declaredKinds are the types that the profile declares, which tickets must have; those of drawnKinds that are not
	// among them are guesses.
	declaredKinds map[string]match.Kind
}

const numberKind = match.Number

var kindWords = map[match.Kind]string{match.Number: "number", match.Text: "text", match.List: "list"}

// fieldsOf returns the fields of a profile's tickets.
func fieldsOf(p *profile.Profile) fields {
	f := fields{drawnKinds: map[string]match.Kind{}, wordsByName: map[string][]string{},
		declaredKinds: map[string]match.Kind{}}
	f.addRules(p.Rules)
	f.addRules(p.Preferred())
	for _, o := range p.Order {
		f.addNumbers(o.Distance, o.Value)
	}
	f.addNumbers(p.Batch.Attribute, p.Priority.Attribute)
	// Declarations come after the rules, since they decide the type.
	for name, a := range p.Attributes {
		f.drawnKinds[name], f.declaredKinds[name] = a.Kind, a.Kind
	}
	for _, t := range p.Teams {
		for _, r := range t.Roles {
			if !slices.Contains(f.roles, r.Name) {
				f.roles = append(f.roles, r.Name)
			}
		}
	}
	if len(f.roles) > 0 {
		delete(f.drawnKinds, profile.AttributeRole) // drawn from the roles
	}
	delete(f.drawnKinds, profile.AttributeModes) // players without it play every mode
	delete(f.drawnKinds, "")                     // the attribute of parts that name none
	f.sortedNames = slices.Sorted(maps.Keys(f.drawnKinds))
	f.addPool(p.Pool)
	return f
}

// addNumbers adds attributes that are numbers.
func (f *fields) addNumbers(names ...string) {
	for _, name := range names {
		f.drawnKinds[name] = match.Number
	}
}

// addRules adds the attributes that rules compare.
func (f *fields) addRules(rules []profile.Rule) {
	for i := range rules {
		r := &rules[i]
		switch r.Kind {
		case profile.Near, profile.Balance, profile.Comparison:
			f.addNumbers(r.Measured()...)
		case profile.Same, profile.Different:
			f.drawnKinds[r.Attribute] = match.Text
		case profile.Common, profile.Count:
			f.drawnKinds[r.Attribute] = match.List
			// A count could never hold without the words that it looks for.
			f.wordsByName[r.Attribute] = append(f.wordsByName[r.Attribute], r.AnyOf...)
		case profile.Avoid:
			delete(f.drawnKinds, r.Attribute) // nobody avoids anybody
		default: // the other kinds compare no attribute
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

// drawWithin returns a number that a range holds. For a range that holds none it returns any: the report then says that
// there are no candidates.
func drawWithin(d match.DoubleRange) float64 {
	low, high := d.Min, d.Max
	if d.Exclude == match.ExcludeMin || d.Exclude == match.ExcludeBoth {
		low = math.Nextafter(low, math.Inf(1))
	}
	if d.Exclude == match.ExcludeMax || d.Exclude == match.ExcludeBoth {
		high = math.Nextafter(high, math.Inf(-1))
	}
	// 0 where the range allows it, else the nearest end.
	return min(high, max(low, 0))
}

// vocabulary is the number of words of an attribute for which the profile names none.
const vocabulary = 5

// drawWord returns the nth word of an attribute; after the last word, the first one follows.
func (f *fields) drawWord(name string, n int) string {
	if words := f.wordsByName[name]; len(words) > 0 {
		return words[n%len(words)]
	}
	return fmt.Sprintf("%s-%d", name, n+1)
}

// setDistributions replaces how attributes are drawn. Errors: tickets have no such attribute, or one of another type.
func (f *fields) setDistributions(o *Options) error {
	for name, d := range o.Numbers {
		// Of an attribute that only rules name, the type is a guess: a distribution may make numbers of it.
		if kind, ok := f.declaredKinds[name]; ok && kind != numberKind || !slices.Contains(f.sortedNames, name) {
			return fmt.Errorf("number %s: %s", name, f.unknownAttribute("number", name))
		}
		if err := d.checkBounds(); err != nil {
			return fmt.Errorf("number %s: %w", name, err)
		}
		f.drawnKinds[name] = numberKind
	}
	for name, shares := range o.Texts {
		if len(shares) == 0 {
			return fmt.Errorf("text %s: at least one word is needed", name)
		}
		if err := f.checkText(name, shares); err != nil {
			return fmt.Errorf("text %s: %w", name, err)
		}
	}
	return nil
}

// checkText returns an error if the words of an attribute cannot be drawn.
func (f *fields) checkText(name string, shares []Share) error {
	// Roles are not in sortedNames: they are drawn from those of the teams.
	if name == profile.AttributeRole && len(f.roles) > 0 {
		if i := slices.IndexFunc(shares, func(s Share) bool { return !slices.Contains(f.roles, s.Name) }); i >= 0 {
			return fmt.Errorf("no team has the role %q; they have %s", shares[i].Name, strings.Join(f.roles, ", "))
		}
		return nil
	}
	if !slices.Contains(f.sortedNames, name) || f.drawnKinds[name] == numberKind {
		return errors.New(f.unknownAttribute("text or list", name))
	}
	return nil
}

// unknownAttribute returns the words that tickets have no such attribute, and which they have.
func (f *fields) unknownAttribute(what, name string) string {
	var all []string
	for _, n := range f.sortedNames {
		all = append(all, fmt.Sprintf("%s (%s)", n, kindWords[f.drawnKinds[n]]))
	}
	if len(f.roles) > 0 {
		all = append(all, "role (list)")
	}
	if len(all) == 0 {
		all = []string{"none: the profile compares no attribute"}
	}
	return fmt.Sprintf("tickets of this profile have no %s named %q; they have %s", what, name, strings.Join(all, ", "))
}
