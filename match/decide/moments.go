package decide

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// leastStep is the least size of each team from an age on.
type leastStep struct {
	after time.Duration
	teams []int
	sum   int
}

func byMean(rules []profile.Rule) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool { return r.Age == profile.Mean && len(r.Widen) > 0 || byMean(r.Rules) })
}

func (pl *plan) addSteps() {
	p := pl.profile
	base := leastStep{after: math.MinInt64, teams: make([]int, len(p.Teams))}
	for i := range p.Teams {
		base.teams[i] = p.Teams[i].Min
	}
	pl.least = []leastStep{base}
	for _, f := range p.Fewer {
		step := leastStep{after: f.After, teams: slices.Clone(pl.least[len(pl.least)-1].teams)}
		for i := range p.Teams {
			if n, ok := f.Players[p.Teams[i].Name]; ok {
				step.teams[i] = n
			}
		}
		pl.least = append(pl.least, step)
		pl.moments = append(pl.moments, f.After)
	}
	for i := range pl.least {
		for _, n := range pl.least[i].teams {
			pl.least[i].sum += n
		}
	}
	if p.Autofill > 0 {
		pl.moments = append(pl.moments, p.Autofill)
	}
	if pl.batch >= 0 {
		pl.moments = append(pl.moments, p.Batch.For)
	}
	pl.moments = appendMoments(pl.moments, p.Rules)
	slices.Sort(pl.moments)
	pl.moments = slices.Compact(pl.moments)
}

func appendMoments(to []time.Duration, rules []profile.Rule) []time.Duration {
	for i := range rules {
		for _, s := range rules[i].Widen {
			to = append(to, s.After)
		}
		to = appendMoments(to, rules[i].Rules)
	}
	return to
}

// leastAt returns the least sizes of the teams of a match of that age.
func (pl *plan) leastAt(age time.Duration) *leastStep {
	i := len(pl.least) - 1
	for i > 0 && age < pl.least[i].after {
		i--
	}
	return &pl.least[i]
}

// momentAfter returns the index of the first moment after an age.
func (pl *plan) momentAfter(age time.Duration) int {
	i, _ := slices.BinarySearch(pl.moments, age+1)
	return i
}
