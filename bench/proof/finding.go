package proof

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lattice-director/director/bench"
)

// Section is the outcome of an experiment.
type Section struct {
	Title    string
	Findings []Finding
	Runs     []Run // which the findings are of
}

// Finding is a claim, a measured value and a target.
type Finding struct {
	Name          string
	Value, Target string // with their units
	Met           bool
	Note          string // may be empty
}

// Run is a run of the benchmark, by the name of its trial.
type Run struct {
	Name string
	bench.Result
}

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
func perSecond(v float64) string { return inFull(v) + "/s" }

// measured formats a number, or says that it was not measured.
func measured(v float64, in unit) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "not measured"
	}
	return in(v)
}

// atMost makes a finding that is met by values up to the target. NaN never meets a target.
func atMost(claim string, value, limit float64, in unit) Finding {
	return Finding{Name: claim, Value: measured(value, in), Target: "≤ " + in(limit), Met: value <= limit}
}

// atLeast makes a finding that is met by values from the target on.
func atLeast(claim string, value, limit float64, in unit) Finding {
	return Finding{Name: claim, Value: measured(value, in), Target: "≥ " + in(limit),
		Met: value >= limit && !math.IsInf(value, 0)}
}

// noted adds a note to a finding.
func noted(f Finding, format string, args ...any) Finding {
	f.Note = fmt.Sprintf(format, args...)
	return f
}

// inFull formats a number without a fraction: 12,345; a dash if there is none.
func inFull(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	text := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	var out strings.Builder
	if v < 0 && text != "0" {
		out.WriteByte('-')
	}
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	return out.String()
}
