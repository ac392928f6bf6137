package decide

import "slices"

// ofPairs reports whether two tickets that break the rule cannot be in one match, whichever other tickets it has.
func ofPairs(r *rule) bool {
	if r.byTeam {
		return false
	}
	switch k := r.condition.(type) {
	case *near, *same, *different, *common, *avoid:
		return true
	case *latency:
		return !k.mean
	case *count:
		return r.base.Min == 0
	case *or:
		return allOfPairs(k.rules)
	case *and:
		return allOfPairs(k.rules)
	}
	return false
}

func allOfPairs(rules []*rule) bool {
	return !slices.ContainsFunc(rules, func(r *rule) bool { return !ofPairs(r) })
}

// reached keeps the best verdict of each rule over the sets of tickets that a search judges.
type reached struct {
	best   []verdict // by rule: of those judged, the one nearest to holding
	judges []bool    // by rule
}

func newReached(rules int) *reached { return &reached{make([]verdict, rules), make([]bool, rules)} }

// judged notes a verdict over a set of tickets.
func (r *reached) judged(rule int, v verdict) {
	if r == nil || r.judges[rule] && r.best[rule].over <= v.over {
		return
	}
	r.best[rule], r.judges[rule] = v, true
}
