package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// reportContradictions reports rules that no match can satisfy together, whatever players wait. It reports no
// contradiction that is not there, but does not find every one: it knows the differences between numbers of a match, and
// what follows from the sizes of teams.
func (c *converter) reportContradictions() {
	// A stored document must stay readable, and other problems may be the cause of a contradiction.
	if c.report.isStored || len(c.report.problems) > 0 || c.p.Function != nil {
		return
	}
	// Every preference beside contradictory rules would be reported as well.
	if c.reportContradiction("this", c.p.Rules) {
		return
	}
	// Each preference alone with the rules: they may contradict each other, since a match need not satisfy all.
	for i := range c.p.Prefer {
		if c.reportContradiction("this preference", append(slices.Clone(c.p.Rules), c.p.Prefer[i].Rule)) {
			return
		}
	}
}

// reportContradiction reports whether no match can satisfy some rules, and says so.
func (c *converter) reportContradiction(what string, rules []Rule) bool {
	s := newSatisfier(c.p)
	if s.canSatisfy(rules, way{}) {
		return false
	}
	claims, facts := s.foundConflict.claimsAndFacts(c.ruleNodes)
	// Facts alone contradict each other: the checks of teams have reported that.
	if len(claims) == 0 {
		return false
	}
	// The problem is reported at the last rule of the conflict, and names those above it.
	last := claims[len(claims)-1]
	demands := []string{last.String()}
	for _, other := range claims[:len(claims)-1] {
		demands = append(demands, fmt.Sprintf("by %s in line %d %s", shortenText(other.rule.ID),
			c.ruleNodes[other.rule.ID].line, other))
	}
	c.report.addProblem(c.ruleNodes[last.rule.ID], "no match can satisfy %s: %s", what,
		strings.Join(append(demands, facts...), ", and "))
	return true
}

// conflict is bounds that cannot hold together.
type conflict []bound

// claimsAndFacts returns the claims of a conflict in the order of the document, and the facts that matter.
func (all conflict) claimsAndFacts(nodes map[string]*node) (claims []*claim, facts []string) {
	for _, b := range all {
		// Several bounds may come from one rule, which is named once.
		if b.fromClaim != nil && !slices.ContainsFunc(claims,
			func(c *claim) bool { return c.rule.ID == b.fromClaim.rule.ID }) {
			claims = append(claims, b.fromClaim)
		}
		if b.factText != "" && !slices.Contains(facts, b.factText) {
			facts = append(facts, b.factText)
		}
	}
	slices.SortFunc(claims, func(a, b *claim) int {
		x, y := nodes[a.rule.ID], nodes[b.rule.ID]
		return cmp.Or(cmp.Compare(x.line, y.line), cmp.Compare(x.column, y.column))
	})
	return claims, facts
}

// canSatisfy reports whether a match can satisfy the rules beside what was chosen for those before. If not, it has set
// foundConflict.
func (s *satisfier) canSatisfy(rules []Rule, chosen way) bool {
	if len(rules) == 0 {
		return true
	}
	for _, w := range s.waysOf(claim{rule: &rules[0]}) {
		next := chosen.joinedWith(w)
		found := findCycle(s.impliedBounds(next), &s.effortLeft)
		// Out of effort: the profile is accepted, since a contradiction that is not there must not be reported.
		if s.effortLeft <= 0 || found == nil && s.canSatisfy(rules[1:], next) {
			return true
		}
		// The report names the first conflict that is found. Another one may take fewer rules.
		if s.foundConflict == nil {
			s.foundConflict = found
		}
	}
	return false
}

// impliedBounds returns the bounds of a way that apply, with those that follow from the meaning of their quantities.
func (s *satisfier) impliedBounds(w way) (all []bound) {
	// A group has a value if a group that is part of it has one.
	hasValue := func(q quantity) bool {
		return s.alwaysHasValue(q.group) ||
			slices.ContainsFunc(w.presentGroups, func(g group) bool { return g.isWithin(q.group) })
	}
	for _, b := range slices.Concat(w.numberBounds, w.factBounds) {
		// Where nobody has a value, there is nothing to bound.
		if hasValue(b.lowerQuantity) && hasValue(b.rightQuantity) {
			all = append(all, b)
		}
	}
	related := relatedQuantities(all)
	for _, q := range related {
		all = append(all, s.boundsAbout(q)...)
	}
	// The pairs below take time as well: rules per team have many quantities.
	s.effortLeft -= len(related) * len(related)
	for _, a := range related {
		for _, b := range related {
			if a != b && precedesQuantity(a, b) {
				// A mean is computed with rounding, and may be a little outside the values that it is the mean of.
				all = append(all, bound{lowerQuantity: a, rightQuantity: b,
					isRounded: a.name == meanName || b.name == meanName})
			}
		}
	}
	return all
}

// relatedQuantities returns the quantities of bounds, and those through which they may depend on each other.
func relatedQuantities(bounds []bound) (related []quantity) {
	// The zero quantity is the number 0, about which nothing else is known.
	seen := map[quantity]bool{{}: true}
	add := func(q quantity) {
		if !seen[q] {
			seen[q] = true
			related = append(related, q)
		}
	}
	for _, b := range bounds {
		for _, q := range []quantity{b.lowerQuantity, b.rightQuantity} {
			add(q)
			// The lowest, the mean and the highest of a group bound each other, also where rules name only two of them.
			if q.name == lowestName || q.name == highestName || q.name == meanName {
				add(q.group.lowestValue())
				add(q.group.highestValue())
			}
		}
	}
	return related
}

// boundsAbout returns what holds for a quantity in every match.
func (s *satisfier) boundsAbout(q quantity) []bound {
	least, most := s.playerRange(q.group.teamIndex, q.group.roleName)
	group := s.nameOf(q.group)
	enough := fmt.Sprintf("%s has at most %s", group, playersIn(most))
	switch {
	case q.name == playersName:
		return []bound{{lowerQuantity: q, limit: float64(most), factText: enough},
			{rightQuantity: q, limit: -float64(least),
				factText: fmt.Sprintf("%s has at least %s", group, playersIn(least))}}
	case strings.HasPrefix(q.name, countPrefix):
		// A count is 0 at least, which nobody needs to be told.
		return []bound{{lowerQuantity: q, limit: float64(most), factText: enough}, {rightQuantity: q}}
	case q.group.column == latencyColumn:
		// No latency is below 0.
		return []bound{{rightQuantity: q}}
	}
	return nil
}

// nameOf names a group of players in a problem.
func (s *satisfier) nameOf(g group) string {
	name := "a match"
	if g.teamIndex != wholeMatch {
		name = "team " + s.p.Teams[g.teamIndex].Name
	}
	if g.roleName != "" {
		name += ", of the role " + g.roleName + ","
	}
	return name
}

// precedesQuantity reports whether a quantity is never greater than another.
func precedesQuantity(a, b quantity) bool {
	switch {
	case b.includesCount(a):
		return true
	// A group that contains another one has the lower lowest value, and the higher highest one.
	case a.name == lowestName && b.name == lowestName:
		return b.group.isWithin(a.group)
	case a.name == highestName && b.name == highestName:
		return a.group.isWithin(b.group)
	case a.group != b.group:
		return false
	}
	return a.name == lowestName && (b.name == meanName || b.name == highestName) ||
		a.name == meanName && b.name == highestName
}
