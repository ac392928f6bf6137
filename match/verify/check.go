package verify

import (
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// Check returns the conditions of the profile that do not hold for the match at the time now; nil: all hold. The
// profile must be valid and must not be decided by a function.
func Check(p *profile.Profile, m Match, now time.Time) []Violation {
	c := newChecker(p, m, now)
	found := slices.Concat(c.checkCandidates(), c.checkWhole(), c.checkOnce(), c.checkTeams(), c.checkSplitParties(),
		c.checkRoles(), c.checkMode(), c.checkJoining(), c.checkAbsent(p.Rules), c.checkChosen(), c.checkDue())
	// The rules presume that players are seated as the profile says.
	if len(found) > 0 {
		return found
	}
	return c.checkRulesInRegions()
}

// checkRulesInRegions checks the rules in the region of the match or, while it has none, in the region that violates
// the fewest.
func (c *checker) checkRulesInRegions() []Violation {
	var fewest []Violation
	for i, region := range c.regionsToTry() {
		inRegion := *c
		inRegion.region = region
		// All rules in one region: it is not enough that each of them holds in some region.
		found := inRegion.checkRules(c.p.Rules)
		if i == 0 || len(found) < len(fewest) {
			fewest = found
		}
	}
	return fewest
}

// regionsToTry returns the region of the match or, while it has none, those that anybody measured, and "".
func (c *checker) regionsToTry() []string {
	if c.match.Region != "" {
		return []string{c.match.Region}
	}
	// "" is for profiles without a rule on latency, whose players need not have measured any region.
	measured := map[string]bool{"": true}
	for _, m := range c.members {
		for region := range m.latencies {
			measured[region] = true
		}
	}
	return slices.Sorted(maps.Keys(measured))
}
