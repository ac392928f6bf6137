package proof

import (
	"fmt"
	"math"

	"github.com/lattice-director/director/bench"
)

// claim is a row of an experiment's table: a measure, and its target.
type claim struct {
	text   string
	value  measure
	target target
	note   string // for fmt.Sprintf; may be empty
	args   args   // of the note
}

// args are measures and texts, which are written, and other values.
type args []any

// target is met by values up to its limit, or from it on. NaN and infinity meet none.
type target struct {
	limit  float64
	isMost bool
}

func atMost(limit float64) target  { return target{limit, true} }
func atLeast(limit float64) target { return target{limit, false} }

func (t target) isMet(v float64) bool {
	if t.isMost {
		return v <= t.limit
	}
	return v >= t.limit && !math.IsInf(v, 0)
}

func (t target) write(in unit) string {
	if t.isMost {
		return "≤ " + in(t.limit)
	}
	return "≥ " + in(t.limit)
}

// noFailures is the claim that no call failed in these arms, with the kinds of failures.
func noFailures(arms ...string) claim {
	return claim{"calls that failed", total(failed, arms...), atMost(0), "%s", args{kindsOf(arms...)}}
}

// Section is the outcome of an experiment. Scripts may read its JSON.
type Section struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	Findings []Finding `json:"findings"`
	Runs     []Run     `json:"runs"` // which the findings are of
}

// Finding is a claim that was measured.
type Finding struct {
	Claim    string `json:"claim"`
	Measured string `json:"measured"` // with its unit
	Asked    string `json:"asked"`    // the target, with its unit
	Met      bool   `json:"met"`
	Note     string `json:"note,omitempty"`
}

// Run is a run of the benchmark, by the name of its arm.
type Run struct {
	Name string `json:"name"`
	bench.Result
}

// judge measures claims.
func (all rounds) judge(claims []claim) (findings []Finding) {
	for _, c := range claims {
		v := c.value.take(all)
		f := Finding{Claim: c.text, Measured: writeIn(c.value.unit, v), Asked: c.target.write(c.value.unit),
			Met: c.target.isMet(v)}
		if c.note != "" {
			f.Note = fmt.Sprintf(c.note, c.args.write(all)...)
		}
		findings = append(findings, f)
	}
	return findings
}

func (a args) write(all rounds) (written []any) {
	for _, v := range a {
		if m, ok := v.(interface{ show(all rounds) string }); ok {
			v = m.show(all)
		}
		written = append(written, v)
	}
	return written
}
