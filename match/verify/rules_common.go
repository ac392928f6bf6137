package verify

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// checkCommon checks that at least so many values are in every list. Where nobody has a list, the rule holds.
func (c *checker) checkCommon(r profile.Rule) (found []Violation) {
	entries := c.comparedEntries(r, r.Attribute, texts...)
	if len(entries) == 0 {
		return nil
	}
	common := commonValues(entries)
	for _, l := range c.limitsOf(r) {
		if !l.Ended && len(common) < l.AtLeast {
			found = append(found, measuredViolation(r.ID, float64(len(common)), float64(l.AtLeast),
				"%d values are in every list, fewer than %d", len(common), l.AtLeast))
		}
	}
	return found
}

// checkChosen checks that a common rule chooses each value that was chosen for the game server.
func (c *checker) checkChosen() (found []Violation) {
	for attribute, value := range c.match.Chosen {
		if !c.choosesValue(c.p.Rules, attribute, value) {
			found = append(found, newViolation("chosen", "no rule chooses %q of %s", value, attribute))
		}
	}
	return found
}

// choosesValue reports whether the value is the best one of a common rule on the attribute, or of one inside another
// rule. Lists that parties unite have no order: of those, each common value may be chosen.
func (c *checker) choosesValue(rules []profile.Rule, attribute, value string) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		if r.Kind != profile.Common || r.Attribute != attribute {
			return c.choosesValue(r.Rules, attribute, value)
		}
		common := commonValues(c.comparedEntries(r, attribute, texts...))
		if r.Party == profile.Union {
			return slices.Contains(common, value)
		}
		return len(common) > 0 && common[0] == value
	})
}

// commonValues returns the values that are in every list, the one with the least sum of positions first; of equal sums
// the lowest by bytes.
func commonValues(entries []entry) (common []string) {
	if len(entries) == 0 {
		return nil
	}
	for _, v := range textsOf(entries[0].value) {
		lacksValue := func(e entry) bool { return !slices.Contains(textsOf(e.value), v) }
		if !slices.Contains(common, v) && !slices.ContainsFunc(entries, lacksValue) {
			common = append(common, v)
		}
	}
	// By bytes first: the stable sort by positions keeps that order of equal sums.
	slices.Sort(common)
	slices.SortStableFunc(common, func(a, b string) int { return sumPositions(entries, a) - sumPositions(entries, b) })
	return common
}

func sumPositions(entries []entry, v string) (sum int) {
	for _, e := range entries {
		sum += slices.Index(textsOf(e.value), v)
	}
	return sum
}
