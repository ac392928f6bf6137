package proof

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/report"
)

var overload = Experiment{
	Name: "overload", Title: "Overload", Takes: "2 min", Run: runOverload,
	About: "What becomes of callers, memory and health when twice as many calls come as can be answered",
}

const overloadText = `In each round a closed loop of 256 callers finds how many placements one replica can decide. Then
more are asked for, up to twice as many, whatever the answers: an open loop, in which latency counts from when a call
was due. What counts is goodput: answers 200 within the time that a call has.

The load runs on the same machine, but where it can be kept apart (Linux) it has half of the CPUs for itself, and the
director and Postgres have the other half: what is asked for takes nothing from who answers. To refuse a call is not for
nothing all the same: it has to be read and answered. Meanwhile somebody asks for health and for the keys twenty times
a second.`

const (
	greatest    = "matchmake, as many as it can"
	callTimeout = 900                          // milliseconds: the replica's default
	admitted    = "DIRECTOR_MAX_IN_FLIGHT=512" // the replica's default, which the laboratory has not
	// unanswered calls may be so many: more than a replica lets in, so that it is the replica that refuses. Each has a
	// connection.
	unanswered = 8192
	// mostGrown is what a replica's memory may grow by: 64 KiB for each connection.
	mostGrown = unanswered * 64 << 10
)

// multiples of what a replica can answer that are asked for. The last is what findings are about.
var multiples = []float64{1.25, 1.5, 2}

func multiple(of float64) string { return fmt.Sprintf("matchmake, %g × as many", of) }

var overloaded = multiple(multiples[len(multiples)-1])

func runOverload(ctx context.Context, o Options) (report.Section, error) {
	var all rounds
	var pulse pulse
	var before bench.Reading
	apart, err := o.setApart()
	if err != nil {
		return report.Section{}, err
	}
	err = o.in(ctx, lab.Options{Env: []string{admitted}}, func(ctx context.Context, b *bed) (err error) {
		defer apart.end()
		if err := apart.begin(); err != nil {
			return err
		}
		if before, err = b.Read(ctx); err != nil {
			return err
		}
		all, err = o.measure(ctx, b.overload(&pulse)...)
		return err
	})
	if err != nil {
		return report.Section{}, err
	}
	names := []string{greatest}
	for _, of := range multiples {
		names = append(names, multiple(of))
	}
	runs := all.typical(names...)
	return report.Section{
		Text: overloadText, Findings: append(all.overload(before.ServerRSS), pulse.findings()...), Runs: runs,
		Plots: []report.Plot{all.goodputs(), report.Latencies(runs), report.GroupSizes(runs)},
	}, nil
}

// setApart has what is started until begin run on one half of the CPUs, and from then on until end this process on the
// other.
func (o Options) setApart() (*apart, error) {
	if o.Quick || !separable {
		return &apart{}, nil
	}
	a := &apart{cpus: runtime.NumCPU()}
	return a, keepTo(0, a.cpus/2)
}

type apart struct{ cpus int } // none: nothing is kept apart

func (a *apart) begin() error {
	if a.cpus == 0 {
		return nil
	}
	return keepTo(a.cpus/2, a.cpus)
}

func (a *apart) end() {
	if a.cpus > 0 {
		_ = keepTo(0, a.cpus) // went well before
	}
}

// overload is a trial that finds the most there is, and one for each multiple of that.
func (b *bed) overload(pulse *pulse) []trial {
	load := b.options.load(matchmake)
	load.Callers = of(b.options, crowd, 8)
	most := 0.0
	trials := []trial{b.cleaned(trial{greatest, func(ctx context.Context) (bench.Result, error) {
		result, err := b.run(ctx, b.director(), load)
		most = result.PerSecond
		return result, err
	}})}
	for _, of := range multiples {
		trials = append(trials, b.cleaned(trial{multiple(of), func(ctx context.Context) (result bench.Result, err error) {
			load := load
			load.Rate, load.Callers = max(of*most, 1), unanswered
			err = pulse.beside(ctx, b.Replicas()[0].URL, func() error {
				result, err = b.run(ctx, b.director(), load)
				return err
			})
			return result, err
		}}))
	}
	return trials
}

// goodputs is the goodput against what was asked for, both as shares of the most there is.
func (all rounds) goodputs() report.Plot {
	line := report.Series{Name: "goodput", X: []float64{100}, Y: []float64{100}}
	for _, of := range multiples {
		line.X = append(line.X, 100*of)
		line.Y = append(line.Y, 100*all.goodput(multiple(of)))
	}
	return report.Plot{
		Title: "Goodput under overload", Series: []report.Series{line},
		X: report.Axis{Title: "asked for, % of the most there is"}, Y: report.Axis{Title: "answered in time, % of the most there is"},
	}
}

func (all rounds) overload(rss int64) []report.Finding {
	of := func(f func(bench.Result) float64) float64 {
		return all.median(func(r round) float64 { return f(r[overloaded]) })
	}
	grown := 0.0
	for _, r := range all {
		grown = max(grown, float64(r[overloaded].Costs.ServerRSS-rss))
	}
	return []report.Finding{
		noted(atLeast("goodput at twice the load, of the most there is", all.goodput(overloaded), 0.75, percent),
			"%s of %s, at %s asked for. The load took %.2f CPUs, the director %.2f, Postgres %.2f; a call, refused or not, cost the director %s, without the overload %s",
			perSecond(of(goodput)), all.rate(greatest), perSecond(of(askedFor)), of(cores(generatorMicros)), of(cores(serverMicros)), of(cores(postgresMicros)),
			micros(of(director)), micros(all.median(func(r round) float64 { return director(r[greatest]) }))),
		noted(atMost("failures other than 503 or 429 with Retry-After", float64(all.sum(rude, overloaded)), 0, report.Whole),
			"failures: %s; refused within %s at p50, %s at p99", all.kinds(overloaded), millis(of(refusedP50)), millis(of(refusedP99))),
		noted(atMost("p99 of what went well", of(p99), callTimeout, millis), "p50 %s", millis(of(p50))),
		noted(atMost(fmt.Sprintf("memory that %s connections take of the replica", whole(unanswered)), grown, mostGrown, mebibytes), "%s at rest", mebibytes(float64(rss))),
	}
}

// goodput of a trial, as a share of the most there is.
func (all rounds) goodput(name string) float64 {
	return all.median(func(r round) float64 { return goodput(r[name]) / r[greatest].PerSecond })
}

func director(r bench.Result) float64   { return r.Costs.ServerMicros }
func askedFor(r bench.Result) float64   { return r.Open.Rate }
func refusedP50(r bench.Result) float64 { return r.FailedLatency.P50 }
func refusedP99(r bench.Result) float64 { return r.FailedLatency.P99 }
func p50(r bench.Result) float64        { return r.Latency.P50 }

// p99 is not a number where nothing went well.
func p99(r bench.Result) float64 {
	if r.Calls == r.Failed {
		return math.NaN()
	}
	return r.Latency.P99
}

func mebibytes(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

// goodput is the answers a second that came in time.
func goodput(r bench.Result) float64 {
	within := 0.0
	for _, p := range r.Latency.Curve {
		if p.MS <= callTimeout {
			within = p.Percentile / 100
		}
	}
	return r.PerSecond * within
}

// rude failures say neither that it is too much nor when to come again.
func rude(r bench.Result) (n int64) {
	for kind, times := range r.Errors {
		polite := strings.HasPrefix(kind, "503 ") || strings.HasPrefix(kind, "429 ")
		if !polite || strings.Contains(kind, "without Retry-After") {
			n += times
		}
	}
	return n
}

func serverMicros(c *bench.Costs) float64    { return c.ServerMicros }
func postgresMicros(c *bench.Costs) float64  { return c.PostgresMicros }
func generatorMicros(c *bench.Costs) float64 { return c.GeneratorMicros }

// cores is how many CPUs something kept busy.
func cores(of func(*bench.Costs) float64) func(bench.Result) float64 {
	return func(r bench.Result) float64 { return of(r.Costs) * float64(r.Calls) / r.Seconds / 1e6 }
}
