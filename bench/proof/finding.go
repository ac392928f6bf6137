package proof

import (
	"fmt"
	"math"
	"slices"

	"github.com/lattice-director/director/bench/report"
)

// median is the middle value, or the mean of the two middle values; NaN without values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// unit writes a number with its unit.
type unit func(float64) string

func micros(v float64) string    { return fmt.Sprintf("%.1f µs", v) }
func millis(v float64) string    { return fmt.Sprintf("%.2f ms", v) }
func times(v float64) string     { return fmt.Sprintf("%.2f ×", v) }
func percent(v float64) string   { return fmt.Sprintf("%.1f %%", 100*v) } // v is a share of 1
func perSecond(v float64) string { return report.Whole(v) + "/s" }

// measured formats a number, or says that it was not measured.
func measured(v float64, in unit) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "not measured"
	}
	return in(v)
}

// atMost makes a finding that is met by values up to the target. NaN never meets a target.
func atMost(claim string, value, limit float64, in unit) report.Finding {
	return report.Finding{Name: claim, Value: measured(value, in), Target: "≤ " + in(limit), Met: value <= limit}
}

// atLeast makes a finding that is met by values from the target on.
func atLeast(claim string, value, limit float64, in unit) report.Finding {
	return report.Finding{Name: claim, Value: measured(value, in), Target: "≥ " + in(limit),
		Met: value >= limit && !math.IsInf(value, 0)}
}

// noted adds a note to a finding.
func noted(f report.Finding, format string, args ...any) report.Finding {
	f.Note = fmt.Sprintf(format, args...)
	return f
}
