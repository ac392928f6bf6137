package decide

import "slices"

// preferredSet returns the set of the preferences, by index, of which has is true, with all rules.
func (pl *plan) preferredSet(has func(i int) bool) (set preferredSet) {
	set.rules = slices.Clone(pl.rules)
	for i, p := range pl.preferred {
		if has(i) {
			set.weight += p.weight
			set.rules = append(set.rules, p.rule)
		}
	}
	return set
}

// judgePreferences judges the preferences for a line-up.
func (pl *plan) judgePreferences(l *lineup) []verdict {
	verdicts := make([]verdict, len(pl.preferred))
	for i := range pl.preferred {
		verdicts[i] = pl.preferred[i].rule.verdictFor(l)
	}
	return verdicts
}

// holdsIn reports whether a rule holds in one of some regions.
func (v *verdict) holdsIn(regions uint64) bool { return v.excess == 0 && v.holdingRegions&regions != 0 }

// weightIn returns the weight of the preferences that hold in one of some regions.
func (pl *plan) weightIn(regions uint64, verdicts []verdict) (weight float64) {
	for i := range verdicts {
		if verdicts[i].holdsIn(regions) {
			weight += pl.preferred[i].weight
		}
	}
	return weight
}
