package verify

import "github.com/lattice-director/director/match/profile"

// checkRules returns the violations of the rules, in their order.
func (c *checker) checkRules(rules []profile.Rule) (found []Violation) {
	for _, r := range rules {
		found = append(found, c.checkRule(r)...)
	}
	return found
}

// checkRule returns the violations of one rule. A compound rule has at most one, whose text names those inside.
func (c *checker) checkRule(r profile.Rule) []Violation {
	switch r.Kind {
	case profile.Near:
		return c.checkNear(r)
	case profile.Balance:
		return c.checkBalance(r)
	case profile.Sizes:
		return c.checkSizes(r)
	case profile.PartySizes:
		return c.checkPartySizes(r)
	case profile.Comparison:
		return c.checkCompare(r)
	case profile.Same, profile.Different:
		return c.checkEquality(r)
	case profile.Common:
		return c.checkCommon(r)
	case profile.Count:
		return c.checkCount(r)
	case profile.Latency:
		return c.checkLatency(r)
	case profile.Avoid:
		return c.checkAvoid(r)
	case profile.Or, profile.And, profile.Not:
		return c.checkCompound(r)
	}
	return []Violation{newViolation(r.ID, "has the unknown kind %d", r.Kind)}
}

// checkCompound checks that of the rules inside an or holds one, inside an and all, and inside a not none.
func (c *checker) checkCompound(r profile.Rule) []Violation {
	// The steps of a compound rule can only end it.
	if hasEnded(c.limitsOf(r)) {
		return nil
	}
	var broken []Violation
	holding := 0
	for _, child := range r.Rules {
		found := c.checkRule(child)
		if len(found) == 0 {
			holding++
		}
		broken = append(broken, found...)
	}
	if compoundHolds(r.Kind, holding, len(r.Rules)) {
		return nil
	}
	return []Violation{newViolation(r.ID, "%d of its %d rules hold; violated: %v", holding, len(r.Rules), broken)}
}

// compoundHolds reports whether a compound rule holds when so many of its rules do.
func compoundHolds(kind profile.RuleKind, holding, all int) bool {
	switch kind {
	case profile.Or:
		return holding > 0
	case profile.Not:
		return holding == 0
	default: // profile.And
		return holding == all
	}
}
