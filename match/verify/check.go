package verify

import (
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// Check returns the conditions of the profile that do not hold for the match at that time; nil: all hold. The profile
// must be valid and must not be decided by a function.
func Check(p *profile.Profile, m Match, now time.Time) []Violation {
	g := newGame(p, m, now)
	found := slices.Concat(g.checkCandidates(), g.checkParties(), g.checkOnce(), g.checkTeams(), g.checkSplitParties(),
		g.checkRoles(), g.checkMode(),
		g.checkJoining(), g.checkAbsent(p.Rules), g.checkChosen(), g.checkDue())
	// The rules presume that players are seated as the profile says.
	if len(found) > 0 {
		return found
	}
	return g.checkRulesInRegions()
}

// checkRulesInRegions checks the rules in the region of the match or, while it has none, in the region that violates the
// fewest.
func (g *game) checkRulesInRegions() (fewest []Violation) {
	for i, region := range g.regionsToTry() {
		// A copy: the region is that of this attempt only.
		there := *g
		there.matchRegion = region
		// All rules in one region: each of them holding in another one is not enough.
		if found := there.checkRules(g.p.Rules); i == 0 || len(found) < len(fewest) {
			fewest = found
		}
	}
	return fewest
}

// regionsToTry returns the regions to try: that of the match or, while it has none, those that anybody measured.
func (g *game) regionsToTry() []string {
	if g.match.Region != "" {
		return []string{g.match.Region}
	}
	// Also none: a profile without a rule on latency needs no region.
	reported := map[string]bool{"": true}
	for _, m := range g.members {
		for region := range m.latencies {
			reported[region] = true
		}
	}
	return slices.Sorted(maps.Keys(reported))
}

// checkRules returns the violations of the rules, in their order.
func (g *game) checkRules(rules []profile.Rule) (found []Violation) {
	for _, r := range rules {
		found = append(found, g.checkRule(r)...)
	}
	return found
}

// checkRule returns the violations of one rule, with those of the rules that it consists of.
func (g *game) checkRule(r profile.Rule) []Violation {
	switch r.Kind {
	case profile.Near:
		return g.checkNear(r)
	case profile.Balance:
		return g.checkBalance(r)
	case profile.Sizes:
		return g.checkSizes(r)
	case profile.PartySizes:
		return g.checkPartySizes(r)
	case profile.Comparison:
		return g.checkCompare(r)
	case profile.Same, profile.Different:
		return g.checkEquality(r)
	case profile.Common:
		return g.checkCommon(r)
	case profile.Count:
		return g.checkCount(r)
	case profile.Latency:
		return g.checkLatency(r)
	case profile.Avoid:
		return g.checkAvoid(r)
	case profile.Or, profile.And, profile.Not:
		return g.checkCompound(r)
	}
	return []Violation{newViolation(r.ID, "has the unknown kind %d", r.Kind)}
}

// checkCompound: of or, one rule holds; of and, all; of not, they do not all hold.
func (g *game) checkCompound(r profile.Rule) []Violation {
	// The steps of a compound rule can only end it.
	if hasEnded(g.limitsNow(r)) {
		return nil
	}
	var broken []Violation
	for _, child := range r.Rules {
		found := g.checkRule(child)
		if len(found) == 0 && r.Kind == profile.Or {
			return nil
		}
		broken = append(broken, found...)
	}
	switch {
	// Of or, no rule held, else it had returned above.
	case r.Kind != profile.Not && len(broken) > 0:
		return []Violation{newViolation(r.ID, "not satisfied: %v", broken)}
	case r.Kind == profile.Not && len(broken) == 0:
		return []Violation{newViolation(r.ID, "what must not hold does")}
	}
	return nil
}
