package verifytest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/lattice-director/director/match/profile"
)

// ageKinds draws the default, Oldest, more often than the others.
var ageKinds = rapid.SampledFrom([]profile.Age{profile.Oldest, profile.Oldest, profile.Youngest, profile.Mean,
	profile.Each})

var (
	// stepAges draws the ages from which on something is wider.
	stepAges = rapid.SampledFrom([]time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second})
	// ticketAges draws those, and 0.
	ticketAges = rapid.OneOf(rapid.Just(time.Duration(0)), stepAges)
)

// widenRule adds 1 or 2 steps, each of which allows more than the one before.
func (d ruleDrawer) widenRule(r *profile.Rule) {
	limits, after := r.Limits, time.Duration(0)
	for range rapid.IntRange(1, 2).Draw(d.t, "steps") {
		after += stepAges.Draw(d.t, "after")
		if d.drawUpTo("any", 3) == 0 || canOnlyEnd(r) {
			limits.Ended = true
		} else {
			widenLimits(r, &limits)
		}
		r.Widen = append(r.Widen, profile.Step{AfterWait: after, Limits: limits})
		// No step may follow.
		if limits.Ended {
			return
		}
	}
}

// canOnlyEnd reports whether a rule has no number that could be wider.
func canOnlyEnd(r *profile.Rule) bool {
	switch r.Kind {
	case profile.Or, profile.And, profile.Not, profile.Same, profile.Different, profile.Avoid:
		return true
	case profile.Comparison:
		return r.Compare.Against != nil
	default:
		return r.Tolerance != ""
	}
}

// widenLimits makes the limits of a rule allow more, or in a comparison of = and != something else.
func widenLimits(r *profile.Rule, l *profile.Limits) {
	switch r.Kind {
	case profile.Near, profile.Balance, profile.Sizes, profile.PartySizes:
		l.Within++
	case profile.Comparison:
		if r.Compare.Operator == profile.Greater || r.Compare.Operator == profile.GreaterOrEqual {
			l.Number--
		} else {
			l.Number++
		}
	case profile.Common:
		l.AtLeast = max(1, l.AtLeast-1)
	case profile.Count:
		l.Min = max(0, l.Min-1)
	case profile.Latency:
		l.Latency += 30 * time.Millisecond
	default: // see canOnlyEnd
	}
}

// removeSteps takes the steps out of a rule and those inside. Inside of not, a step would make the not harder to
// satisfy with time.
func removeSteps(r *profile.Rule) {
	r.Widen = nil
	for i := range r.Rules {
		removeSteps(&r.Rules[i])
	}
}
