package verify

import (
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// entry is a value that a rule compares: a player's, or what the rule folds a party's into.
type entry struct {
	ticket     string
	holderName string   // the player, or the ticket for a party's
	teamNames  []string // where the player is or, of a party's, its players are
	value      match.Value
}

// comparedEntries returns what the rule compares of that attribute. Players without it are left out: if the rule does
// not allow that, checkAbsent reports it.
func (g *game) comparedEntries(r profile.Rule, attribute string, kinds ...match.Kind) []entry {
	return g.ratedEntries(r, attribute, nil, kinds...)
}

// ratedEntries is comparedEntries with other attributes for players in some roles.
func (g *game) ratedEntries(r profile.Rule, attribute string, byRole []profile.RoleAttribute,
	kinds ...match.Kind) (found []entry) {
	for _, m := range g.countedMembers(r) {
		// Left out if it cannot be compared: checkAbsent says whether that is allowed.
		if v, ok := g.valueFor(r, inRole(m, attribute, byRole), m, kinds); ok {
			found = append(found, entry{m.seat.Ticket, m.seat.Sub, []string{m.seat.Team}, v})
		}
	}
	return foldEntries(r.Party, found)
}

// inRole returns the attribute that counts for a player in the role that it has.
func inRole(m member, attribute string, byRole []profile.RoleAttribute) string {
	for _, by := range byRole {
		if by.Role == m.seat.Role {
			return by.Attribute
		}
	}
	return attribute
}

// countedMembers returns the players that a rule is about: all, or those who fill its role.
func (g *game) countedMembers(r profile.Rule) []member {
	return slices.DeleteFunc(g.membersIn(""), func(m member) bool { return r.Role != "" && m.seat.Role != r.Role })
}

// valueFor returns what a rule sees of a player: its attribute, the profile's default or what the rule puts in its
// place; false: nothing that it can compare.
func (g *game) valueFor(r profile.Rule, attribute string, m member, kinds []match.Kind) (match.Value, bool) {
	v, ok := g.ownValue(attribute, m)
	if !ok && r.Missing.Value != nil {
		v = *r.Missing.Value
	}
	return v, slices.Contains(kinds, v.Kind)
}

// ownValue returns a player's attribute, which has the declared type, or the profile's default.
func (g *game) ownValue(attribute string, m member) (match.Value, bool) {
	v, ok := m.attributes[attribute]
	declared, isDeclared := g.p.Attributes[attribute]
	// A value of another type counts as none.
	if isDeclared && v.Kind != declared.Kind {
		if declared.Default == nil {
			return match.Value{}, false
		}
		return *declared.Default, true
	}
	return v, ok
}

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

// checkAbsent returns the players that a rule, or one inside of it, can neither compare nor leave out. Such a player's
// ticket is no candidate, however the rule is composed and whether or not it has ended.
func (g *game) checkAbsent(rules []profile.Rule) (found []Violation) {
	for _, r := range rules {
		found = append(found, g.checkAbsent(r.Rules)...)
		if r.Missing.Pass {
			continue
		}
		for _, compared := range neededAttributes(r) {
			for _, m := range g.countedMembers(r) {
				// The attribute itself has to be there, too: which role a player gets is not known before the match.
				for _, attribute := range []string{compared.name, inRole(m, compared.name, compared.byRole)} {
					if _, ok := g.valueFor(r, attribute, m, kindsOf(r.Kind)); !ok {
						found = append(found,
							newViolation(r.ID, "player %s has no %s that the rule can compare", m.seat.Sub, attribute))
						break
					}
				}
			}
		}
	}
	return found
}

// compared is an attribute that a rule compares, with those of players in some roles.
type compared struct {
	name   string
	byRole []profile.RoleAttribute
}

// neededAttributes returns the attributes that players need for a rule. Where players are counted they need none: those
// without a value do not count.
func neededAttributes(r profile.Rule) (all []compared) {
	if r.Attribute != "" {
		all = append(all, compared{r.Attribute, r.ByRole})
	}
	if r.Compare == nil {
		return all
	}
	for _, m := range []*profile.Measure{&r.Compare.Measure, r.Compare.Against} {
		if m != nil && m.Take != profile.FoldCount {
			all = append(all, compared{m.Attribute, m.ByRole})
		}
	}
	return all
}

// foldEntries makes one entry of those of each party, where the fold is about values of that kind.
func foldEntries(by profile.Fold, entries []entry) (folded []entry) {
	parties := map[string][]entry{}
	for _, e := range entries {
		if !foldsKind(by, e.value.Kind) {
			folded = append(folded, e)
			continue
		}
		if parties[e.ticket] == nil {
			folded = append(folded, entry{ticket: e.ticket, holderName: e.ticket})
		}
		parties[e.ticket] = append(parties[e.ticket], e)
	}
	for i, e := range folded {
		// The place of a party, all of whose values are known by now: no player's value has the kind 0.
		if party := parties[e.ticket]; e.value.Kind == 0 {
			folded[i].value, folded[i].teamNames = foldParty(by, party), teamsOf(party)
		}
	}
	return folded
}

// foldsKind reports whether a fold makes one value of several of a type.
func foldsKind(by profile.Fold, kind match.Kind) bool {
	switch by {
	case profile.FoldMin, profile.FoldMax, profile.FoldMean:
		return kind == match.Number
	case profile.Union:
		return kind != match.Number
	// what all lists have is the same without folding first
	case profile.FoldEach, profile.FoldSum, profile.FoldCount, profile.Intersect:
	}
	return false
}

func teamsOf(party []entry) (teams []string) {
	for _, e := range party {
		teams = append(teams, e.teamNames...)
	}
	return teams
}

func foldParty(by profile.Fold, party []entry) match.Value {
	if party[0].value.Kind == match.Number {
		n, _ := foldNumbers(by, numbersOf(party))
		return match.Value{Kind: match.Number, Number: n}
	}
	var union []string
	for _, e := range party {
		union = append(union, textsOf(e.value)...)
	}
	return match.Value{Kind: match.List, List: union}
}

// foldNumbers makes one number of many; false: nothing is there to take it of.
func foldNumbers(by profile.Fold, numbers []float64) (float64, bool) {
	var sum float64
	for _, n := range numbers {
		sum += n
	}
	switch {
	// Of nobody, a sum and a count are 0; the others do not exist.
	case by == profile.FoldSum:
		return sum, true
	case by == profile.FoldCount:
		return float64(len(numbers)), true
	case len(numbers) == 0:
		return 0, false
	case by == profile.FoldMin:
		return slices.Min(numbers), true
	case by == profile.FoldMax:
		return slices.Max(numbers), true
	}
	return sum / float64(len(numbers)), true
}

func numbersOf(entries []entry) (numbers []float64) {
	for _, e := range entries {
		numbers = append(numbers, e.value.Number)
	}
	return numbers
}

// entriesOf returns the entries of a team; of "" all.
func entriesOf(entries []entry, team string) []entry {
	return slices.DeleteFunc(slices.Clone(entries),
		func(e entry) bool { return team != "" && !slices.Contains(e.teamNames, team) })
}

// teamScopes returns the teams in each of which a rule must hold on its own, or "" for the match.
func (g *game) teamScopes(perTeam bool) (names []string) {
	if !perTeam {
		return []string{""}
	}
	return g.teamNames()
}

func (g *game) teamNames() (names []string) {
	for _, t := range g.p.Teams {
		names = append(names, t.Name)
	}
	return names
}

// textsOf returns a list's texts, or the one of a text.
func textsOf(v match.Value) []string {
	switch v.Kind {
	case match.Text:
		return []string{v.Text}
	case match.List:
		return v.List
	case match.Number:
	}
	return nil
}

// equalValues reports whether two values are equal. Texts are compared by bytes.
func equalValues(a, b match.Value) bool {
	return a.Kind == b.Kind && a.Number == b.Number && a.Text == b.Text && slices.Equal(a.List, b.List)
}
