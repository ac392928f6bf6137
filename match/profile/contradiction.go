package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lattice-director/director/match"
)

// contradictions reports rules that no match can satisfy together, whatever players wait for it. It finds no
// contradiction that is not there, but not every one that is: it knows the differences between numbers of a match, and
// what follows from the sizes of teams.
func (c *converter) contradictions() {
	if c.report.isStored || len(c.report.problems) > 0 || c.p.Function != nil {
		return
	}
	if c.contradict("this", c.p.Rules) {
		return
	}
	for i := range c.p.Prefer {
		if c.contradict("this preference", append(slices.Clone(c.p.Rules), c.p.Prefer[i].Rule)) {
			return
		}
	}
}

// contradict reports whether no match can satisfy some rules, and says so.
func (c *converter) contradict(what string, rules []Rule) bool {
	s := newSatisfier(c.p)
	if s.satisfiable(rules, way{}) {
		return false
	}
	claims, facts := s.conflict.parts(c.nodes)
	if len(claims) == 0 {
		return false
	}
	last := claims[len(claims)-1]
	demands := []string{last.String()}
	for _, other := range claims[:len(claims)-1] {
		demands = append(demands, fmt.Sprintf("by %s in line %d %s", shorten(other.rule.ID),
			c.nodes[other.rule.ID].line, other))
	}
	c.report.add(c.nodes[last.rule.ID], "no match can satisfy %s: %s", what,
		strings.Join(append(demands, facts...), ", and "))
	return true
}

// conflict is bounds that cannot hold together.
type conflict []bound

// parts returns the claims of a conflict in the order of the document, and the facts that matter.
func (all conflict) parts(nodes map[string]*node) (claims []*claim, facts []string) {
	for _, b := range all {
		if b.from != nil && !slices.ContainsFunc(claims, func(c *claim) bool { return c.rule.ID == b.from.rule.ID }) {
			claims = append(claims, b.from)
		}
		if b.fact != "" && !slices.Contains(facts, b.fact) {
			facts = append(facts, b.fact)
		}
	}
	slices.SortFunc(claims, func(a, b *claim) int {
		x, y := nodes[a.rule.ID], nodes[b.rule.ID]
		return cmp.Or(cmp.Compare(x.line, y.line), cmp.Compare(x.column, y.column))
	})
	return claims, facts
}

// satisfier looks for a way in which all rules of a profile can hold.
type satisfier struct {
	p        *Profile
	kinds    map[string]presence
	effort   int // bounds that may still be looked at
	conflict conflict
}

// maxEffort bounds the search. Rules about which it is not sure in time are accepted.
const maxEffort = 1 << 20

// presence says which values players of a match have for sure.
type presence struct{ number, value bool }

func newSatisfier(p *Profile) *satisfier {
	s := &satisfier{p: p, kinds: map[string]presence{}, effort: maxEffort}
	for name, a := range p.Attributes {
		if a.Default != nil {
			s.kinds[name] = presence{a.Kind == match.Number, true}
		}
	}
	s.require(p.Rules)
	return s
}

// require notes the attributes without which a ticket is no candidate: those of any rule that players without them
// fail.
func (s *satisfier) require(rules []Rule) {
	for i := range rules {
		r := &rules[i]
		s.require(r.Rules)
		if r.Missing.Pass || r.Missing.Value != nil || r.Role != "" {
			continue
		}
		for _, name := range r.required() {
			has := s.kinds[name]
			s.kinds[name] = presence{has.number || r.ofNumbers(), true}
		}
	}
}

func (r *Rule) ofNumbers() bool { return r.Kind == Near || r.Kind == Balance || r.Kind == Comparison }

// required returns the attributes that players need for the rule. Those who have none do not count where players are
// counted.
func (r *Rule) required() (names []string) {
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

// column names the values that a rule compares. Two rules with the same column compare the same values.
func (s *satisfier) column(r *Rule) string {
	return s.columnOf(r, r.Attribute, r.ByRole, r.ofNumbers())
}

func (s *satisfier) columnOf(r *Rule, attribute string, byRole []RoleAttribute, numbers bool) string {
	has := s.kinds[attribute]
	missing := fmt.Sprint(canonicalMissing(r.Missing))
	if len(byRole) == 0 && (numbers && has.number || !numbers && has.value) {
		// Nobody lacks the value, so that two rules compare the same values whatever they say about those who do.
		missing = "fail"
	} else if r.Missing.Pass && r.Missing.Value != nil { // a preference leaves out those with a value of another type
		missing += "\x01pass"
	}
	kind := "value"
	if numbers || has.number {
		kind = "number"
	}
	return strings.Join([]string{attribute, fmt.Sprint(byRole), kind, missing, parties.word(r.Party)}, "\x01")
}

func (s *satisfier) team(name string) int {
	return slices.IndexFunc(s.p.Teams, func(t Team) bool { return t.Name == name }) // wholeMatch for ""
}

// certain reports whether each match has a value of the group.
func (s *satisfier) certain(g group) bool {
	least, _ := s.players(g.team, g.role)
	return g.column == "" || least > 0 && !strings.Contains(g.column, "\x01pass\x01") && g.column != latencyColumn
}

// players returns how many players of a team, in a role, a match has.
func (s *satisfier) players(team int, role string) (least, most int) {
	for i, t := range s.p.Teams {
		if team != wholeMatch && team != i {
			continue
		}
		few, many := t.Min, t.Max
		for _, f := range s.p.LeastSteps() {
			if n, ok := f.Players[t.Name]; ok {
				few = min(few, n)
			}
		}
		if role != "" {
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

// satisfiable reports whether a match can satisfy the rules beside what was chosen for those before.
func (s *satisfier) satisfiable(rules []Rule, chosen way) bool {
	if len(rules) == 0 {
		return true
	}
	for _, w := range s.waysOf(claim{rule: &rules[0]}) {
		next := chosen.and(w)
		found := cycle(s.implied(next), &s.effort)
		if s.effort <= 0 || found == nil && s.satisfiable(rules[1:], next) {
			return true
		}
		// The report names the first conflict that is found. Another one may take fewer rules.
		if s.conflict == nil {
			s.conflict = found
		}
	}
	return false
}

// implied returns the bounds of a way that apply, with those that follow from the meaning of their quantities.
func (s *satisfier) implied(w way) (all []bound) {
	present := func(q quantity) bool {
		return s.certain(q.group) || slices.ContainsFunc(w.present, func(g group) bool { return g.within(q.group) })
	}
	for _, b := range slices.Concat(w.bounds, w.facts) {
		// Where nobody has a value, there is nothing to bound.
		if present(b.lower) && present(b.right) {
			all = append(all, b)
		}
	}
	used := related(all)
	for _, q := range used {
		all = append(all, s.about(q)...)
	}
	s.effort -= len(used) * len(used)
	for _, a := range used {
		for _, b := range used {
			if a != b && precedes(a, b) {
				all = append(all, bound{lower: a, right: b, rounded: a.name == meanName || b.name == meanName})
			}
		}
	}
	return all
}

// related returns the quantities of bounds, and those through which they may depend on each other.
func related(bounds []bound) (used []quantity) {
	seen := map[quantity]bool{{}: true}
	add := func(q quantity) {
		if !seen[q] {
			seen[q] = true
			used = append(used, q)
		}
	}
	for _, b := range bounds {
		for _, q := range []quantity{b.lower, b.right} {
			add(q)
			if q.name == lowestName || q.name == highestName || q.name == meanName {
				add(q.group.lowest())
				add(q.group.highest())
			}
		}
	}
	return used
}

// about returns what holds for a quantity in every match.
func (s *satisfier) about(q quantity) []bound {
	least, most := s.players(q.group.team, q.group.role)
	group := s.nameOf(q.group)
	enough := fmt.Sprintf("%s has at most %s", group, playersIn(most))
	switch {
	case q.name == playersName:
		return []bound{{lower: q, limit: float64(most), fact: enough},
			{right: q, limit: -float64(least), fact: fmt.Sprintf("%s has at least %s", group, playersIn(least))}}
	case strings.HasPrefix(q.name, countPrefix):
		return []bound{{lower: q, limit: float64(most), fact: enough}, {right: q}}
	case q.group.column == latencyColumn:
		return []bound{{right: q}}
	}
	return nil
}

func (s *satisfier) nameOf(g group) string {
	name := "a match"
	if g.team != wholeMatch {
		name = "team " + s.p.Teams[g.team].Name
	}
	if g.role != "" {
		name += ", of the role " + g.role + ","
	}
	return name
}

// precedes reports whether a quantity is never greater than another.
func precedes(a, b quantity) bool {
	switch {
	case b.includes(a):
		return true
	case a.name == lowestName && b.name == lowestName:
		return b.group.within(a.group)
	case a.name == highestName && b.name == highestName:
		return a.group.within(b.group)
	case a.group != b.group:
		return false
	}
	return a.name == lowestName && (b.name == meanName || b.name == highestName) ||
		a.name == meanName && b.name == highestName
}
