package verifytest

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// Denial returns a rule that holds where the given rule, as it is before any step, does not.
func Denial(r profile.Rule) profile.Rule {
	denial := profile.Rule{ID: "no-" + r.ID, Kind: profile.Not, Age: r.Age,
		Limits: profile.Limits{Max: profile.NoMax, Spread: profile.NoSpread}, Rules: []profile.Rule{copyRule(r)}}
	removeSteps(&denial)
	return denial
}

// copyRule returns a copy of a rule, and of those inside, with ids of their own.
func copyRule(r profile.Rule) profile.Rule {
	r.ID += "-copy"
	r.Rules = slices.Clone(r.Rules)
	for i := range r.Rules {
		r.Rules[i] = copyRule(r.Rules[i])
	}
	return r
}
