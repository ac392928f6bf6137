package proof

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/lattice-director/director/bench"
)

// figure is a number of a result. Where it was not measured it is NaN.
type figure struct {
	read func(bench.Result) float64
	unit unit
}

var (
	throughput = figure{func(r bench.Result) float64 { return r.PerSecond }, perSecond}
	p50        = figure{func(r bench.Result) float64 { return r.Latency.P50 }, millis}
	p99        = figure{func(r bench.Result) float64 { return r.Latency.P99 }, millis}
	calls      = figure{func(r bench.Result) float64 { return float64(r.Calls) }, inFull}
	failed     = figure{func(r bench.Result) float64 { return float64(r.Failed) }, inFull}
	duration   = figure{func(r bench.Result) float64 { return r.Seconds }, inSeconds}

	// CPU of director and Postgres a call
	cpu          = cpuCost(func(c *bench.Costs) float64 { return c.ServerMicros + c.PostgresMicros })
	serverCPU    = cpuCost(func(c *bench.Costs) float64 { return c.ServerMicros })
	postgresCPU  = cpuCost(func(c *bench.Costs) float64 { return c.PostgresMicros })
	transactions = cost(fourDigits, func(c *bench.Costs) float64 { return c.Transactions })
	memory       = cost(mebibytes, func(c *bench.Costs) float64 { return float64(c.ServerRSS) })
	batchSize    = cost(twoDigits, func(c *bench.Costs) float64 { return c.Groups["placement"].MeanCalls })
)

// cost is a figure of the costs of a run.
func cost(in unit, read func(*bench.Costs) float64) figure {
	return figure{func(r bench.Result) float64 {
		if r.Costs == nil {
			return math.NaN()
		}
		return read(r.Costs)
	}, in}
}

// cpuCost is a cost in CPU time.
func cpuCost(read func(*bench.Costs) float64) figure {
	return cost(micros, func(c *bench.Costs) float64 {
		// The system does not show the CPU of processes.
		if c.ServerMicros == 0 && c.PostgresMicros == 0 {
			return math.NaN()
		}
		return read(c)
	})
}

// coresOf turns CPU time a call, in µs, into the mean number of CPUs that all calls keep busy.
func coresOf(f figure) figure {
	return figure{func(r bench.Result) float64 { return f.read(r) * float64(r.Calls) / r.Seconds / 1e6 }, inCores}
}

// valueOf is a value that the experiment itself has measured.
func valueOf(name string, in unit) figure {
	return figure{func(r bench.Result) float64 {
		if v, ok := r.Values[name]; ok {
			return v
		}
		return math.NaN()
	}, in}
}

// stepOf is a figure of a step instead of the whole turn. A turn without the step has not measured it.
func stepOf(name string, f figure) figure {
	return figure{func(r bench.Result) float64 {
		for _, s := range r.Steps {
			if s.Step == name {
				return f.read(bench.Result{Figures: s})
			}
		}
		return math.NaN()
	}, f.unit}
}

// measure is a number of all rounds.
type measure struct {
	take    func(rounds) float64
	unit    unit
	explain func(rounds) string // what the number does not say; nil: nothing
}

// inUnit is the measure in another unit.
func (m measure) inUnit(u unit) measure {
	m.unit = u
	return m
}

// reduceRounds reduces a number of each round that has these arms to one; NaN without such a round. Figures of different
// rounds are not compared: the machine may have been slower in one.
func reduceRounds(reduce func(values []float64) float64, in unit, compute func(round) float64, arms ...string) measure {
	return measure{unit: in, take: func(all rounds) float64 {
		var values []float64
		for _, r := range all.having(arms...) {
			values = append(values, compute(r))
		}
		if len(values) == 0 {
			return math.NaN()
		}
		return reduce(values)
	}}
}

// first is the number of the first round: memory is not given back before the next.
func first(values []float64) float64 { return values[0] }

// highest is the largest number of all rounds.
func highest(values []float64) float64 { return slices.Max(values) }

// middle is the middle value, or the mean of the two middle values.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// median of a figure of an arm.
func median(arm string, f figure) measure {
	return reduceRounds(middle, f.unit, func(r round) float64 { return f.read(r[arm]) }, arm)
}

// medianValue is the median of a value of an arm.
func medianValue(arm, name string, in unit) measure { return median(arm, valueOf(name, in)) }

// ratio of a figure of two arms.
func ratio(one, other string, f figure) measure {
	return reduceRounds(middle, times, func(r round) float64 { return f.read(r[one]) / f.read(r[other]) }, one, other)
}

// difference of a figure of two arms.
func difference(one, other string, f figure) measure {
	return reduceRounds(middle, f.unit, func(r round) float64 { return f.read(r[one]) - f.read(r[other]) }, one, other)
}

// total of a figure over these arms in all rounds: a median would hide a single failure.
func total(f figure, arms ...string) measure {
	return measure{unit: f.unit, take: func(all rounds) (sum float64) {
		for _, arm := range arms {
			for _, r := range all.having(arm) {
				sum += f.read(r[arm])
			}
		}
		return sum
	}}
}

// failures is the number of calls that failed in these arms, explained by their kinds.
func failures(arms ...string) measure { return explained(failed, arms...) }

// explained is the total of a figure of failures, with the kinds and counts of all failures of these arms.
func explained(f figure, arms ...string) measure {
	m := total(f, arms...)
	m.explain = func(all rounds) string {
		counts := map[string]int64{}
		for _, r := range all {
			for _, arm := range arms {
				for kind, n := range r[arm].Errors {
					counts[kind] += n
				}
			}
		}
		var parts []string
		for _, kind := range slices.Sorted(maps.Keys(counts)) {
			parts = append(parts, fmt.Sprintf("%s × %s", inFull(float64(counts[kind])), kind))
		}
		return strings.Join(parts, ", ")
	}
	return m
}

// unit writes a number with its unit.
type unit func(float64) string

// format is a unit that divides a number before it writes it.
func format(layout string, divisor float64) unit {
	return func(v float64) string { return fmt.Sprintf(layout, v/divisor) }
}

var (
	micros     = format("%.1f µs", 1)
	millis     = format("%.2f ms", 1)
	inSeconds  = format("%.2f s", 1)
	times      = format("%.2f ×", 1)
	percent    = format("%.1f %%", 0.01) // of a share of 1
	inCores    = format("%.2f cores", 1)
	kibibytes  = format("%.0f KiB", 1<<10)
	mebibytes  = format("%.0f MiB", 1<<20)
	twoDigits  = format("%.2f", 1)
	fourDigits = format("%.4f", 1)
)

// perSecond is the unit of a rate.
func perSecond(v float64) string { return inFull(v) + "/s" }

// formatIn formats a number, or says that it was not measured.
func formatIn(u unit, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "not measured"
	}
	return u(v)
}

// inFull formats a number without a fraction: 12,345.
func inFull(v float64) string {
	return message.NewPrinter(language.English).Sprint(int64(math.Round(v)))
}
