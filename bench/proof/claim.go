package proof

import (
	"math"

	"github.com/lattice-director/director/bench"
)

// claim is a row of an experiment's table: a measure, and its target.
type claim struct {
	text   string
	value  measure
	target target
}

// target is met by values up to its limit, or from it on. NaN meets none, and infinity no lower limit.
type target struct {
	limit        float64
	isUpperLimit bool
}

func atMost(limit float64) target  { return target{limit, true} }
func atLeast(limit float64) target { return target{limit, false} }

// isMet reports whether a value is on the right side of the limit, or equal to it.
func (t target) isMet(v float64) bool {
	if t.isUpperLimit {
		return v <= t.limit
	}
	return v >= t.limit && !math.IsInf(v, 0) // a division by nothing is not more than asked
}

// textIn returns the target in the unit of the measure.
func (t target) textIn(in unit) string {
	if t.isUpperLimit {
		return "≤ " + in(t.limit)
	}
	return "≥ " + in(t.limit)
}

// noFailures is the claim that no call failed in these arms.
func noFailures(arms ...string) claim {
	return claim{"calls that failed", failures(arms...), atMost(0)}
}

// Section is the outcome of an experiment. Scripts may read its JSON.
type Section struct {
	Name     string         `json:"name"`
	Title    string         `json:"title"`
	Findings []Finding      `json:"findings"`
	Runs     []bench.Result `json:"runs"` // which the findings are of
}

// Finding is a claim that was measured.
type Finding struct {
	Claim    string `json:"claim"`
	Measured string `json:"measured"` // with its unit
	Asked    string `json:"asked"`    // the target, with its unit
	Met      bool   `json:"met"`
	Note     string `json:"note,omitempty"` // what the number does not say: the kinds of failures
}

// judge measures claims.
func (all rounds) judge(claims []claim) (findings []Finding) {
	for _, c := range claims {
		v := c.value.take(all)
		f := Finding{Claim: c.text, Measured: formatIn(c.value.unit, v), Asked: c.target.textIn(c.value.unit),
			Met: c.target.isMet(v)}
		if c.value.explain != nil {
			f.Note = c.value.explain(all)
		}
		findings = append(findings, f)
	}
	return findings
}
