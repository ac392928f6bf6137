package proof

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// In each round a closed loop of 256 callers measures the capacity of one replica in placements. Then more calls are
// made, up to twice the capacity, independent of answers: an open loop, in which latency counts from when a call was
// due. The result is goodput: answers 200 within a call's timeout.
//
// The load runs on the same machine. Where the system permits it (Linux), the load has half of the CPUs for itself and
// the director and Postgres have the other half, so that the load takes no CPU from the director. Refusing a call still
// has costs: the call must be read and answered. During the load the health check and the JWKS are requested twenty
// times a second.
var overload = Experiment{
	Name: "overload", Title: "Overload", Takes: "2 min", Run: runOverload,
	About: "Goodput, memory and health checks when twice as many calls arrive as a replica can answer",
}

const (
	greatest    = "matchmake, at capacity"
	callTimeout = 900                          // milliseconds, a replica's default timeout of a call
	admitted    = "DIRECTOR_MAX_IN_FLIGHT=512" // a replica's default; the laboratory's is higher
	// unanswered is the limit of calls in flight, each on a connection: more than a replica admits, so that the replica
	// refuses calls.
	unanswered = 8192
	// mostGrown is by how much a replica's memory may grow: 64 KiB for each connection.
	mostGrown = unanswered * 64 << 10
)

// multiples are the offered loads, as multiples of a replica's capacity. The findings are about the last one.
var multiples = []float64{1.25, 1.5, 2}

func multiple(of float64) string { return fmt.Sprintf("matchmake, %g × as many", of) }

var overloaded = multiple(multiples[len(multiples)-1])

func runOverload(ctx context.Context, o Options) (Section, error) {
	var all rounds
	var probes probes
	var before bench.Reading
	apart, err := o.setApart()
	if err != nil {
		return Section{}, err
	}
	err = o.in(ctx, lab.Options{Env: []string{admitted}}, func(ctx context.Context, b *testbed) (err error) {
		defer apart.end()
		if err := apart.begin(); err != nil {
			return err
		}
		if before, err = b.Read(ctx); err != nil {
			return err
		}
		all, err = o.measure(ctx, b.overload(&probes)...)
		return err
	})
	if err != nil {
		return Section{}, err
	}
	names := []string{greatest}
	for _, of := range multiples {
		names = append(names, multiple(of))
	}
	runs := all.typical(names...)
	return Section{
		Findings: append(all.overload(before.ServerRSS), probes.findings()...), Runs: runs,
	}, nil
}

// setApart runs processes that are started until begin on one half of the CPUs, and this process from begin until end
// on the other half.
func (o Options) setApart() (*apart, error) {
	if o.Quick || !separable {
		return &apart{}, nil
	}
	a := &apart{cpus: runtime.NumCPU()}
	return a, keepTo(0, a.cpus/2)
}

type apart struct{ cpus int } // 0: processes share all CPUs

func (a *apart) begin() error {
	if a.cpus == 0 {
		return nil
	}
	return keepTo(a.cpus/2, a.cpus)
}

func (a *apart) end() {
	if a.cpus > 0 {
		_ = keepTo(0, a.cpus) // succeeded before
	}
}

// overload makes a trial that measures the capacity, and one for each multiple of it.
func (b *testbed) overload(probes *probes) []trial {
	load := b.options.load(matchmake)
	load.Callers = of(b.options, manyCallers, 8)
	most := 0.0
	trials := []trial{b.cleaned(trial{greatest, func(ctx context.Context) (bench.Result, error) {
		result, err := b.run(ctx, b.director(), load)
		most = result.PerSecond
		return result, err
	}})}
	for _, of := range multiples {
		trials = append(trials, b.cleaned(trial{multiple(of),
			func(ctx context.Context) (result bench.Result, err error) {
				load := load
				load.Rate, load.Callers = max(of*most, 1), unanswered
				err = probes.beside(ctx, b.Replicas()[0].URL, func() error {
					result, err = b.run(ctx, b.director(), load)
					return err
				})
				return result, err
			}}))
	}
	return trials
}

func (all rounds) overload(rss int64) []Finding {
	of := func(what figure) float64 { return all.of(overloaded, what) }
	grown := 0.0
	for _, r := range all {
		grown = max(grown, float64(r[overloaded].Costs.ServerRSS-rss))
	}
	return []Finding{
		noted(atLeast("goodput at twice the capacity, as a share of it", all.goodput(overloaded), 0.75, percent),
			"%s of %s, at an offered load of %s. The load took %.2f CPUs, the director %.2f, Postgres %.2f; a call, refused or not, cost the director %s, without the overload %s",
			perSecond(of(goodput)), all.rate(greatest), perSecond(of(requested)), of(cores(loadMicros)),
			of(cores(serverMicros)), of(cores(postgresMicros)),
			micros(of(serverMicros)), all.show(greatest, serverMicros, micros)),
		noted(atMost("failures other than 503 or 429 with Retry-After", float64(all.sum(rude, overloaded)), 0,
			inFull),
			"failures: %s; refused within %s at p50, %s at p99", all.kinds(overloaded), millis(of(refusedP50)),
			millis(of(refusedP99))),
		noted(atMost("p99 of successful calls", of(p99OfSuccess), callTimeout, millis), "p50 %s", millis(of(p50))),
		noted(atMost(fmt.Sprintf("memory that %s connections take of the replica", whole(unanswered)), grown, mostGrown,
			mebibytes), "%s at rest", mebibytes(float64(rss))),
	}
}

// goodput of a trial, as a share of the capacity.
func (all rounds) goodput(name string) float64 {
	return all.median(func(r round) float64 { return goodput(r[name]) / r[greatest].PerSecond })
}

func refusedP50(r bench.Result) float64 { return r.FailedLatency.P50 }
func refusedP99(r bench.Result) float64 { return r.FailedLatency.P99 }

// p99OfSuccess is NaN without successful calls.
func p99OfSuccess(r bench.Result) float64 {
	if r.Calls == r.Failed {
		return math.NaN()
	}
	return r.Latency.P99
}

func mebibytes(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

// goodput is the number of answers a second that arrived within the timeout.
func goodput(r bench.Result) float64 {
	within := 0.0
	for _, p := range r.Latency.Curve {
		if p.MS <= callTimeout {
			within = p.Percentile / 100
		}
	}
	return r.PerSecond * within
}

// rude counts failures other than a 503 or 429 with Retry-After.
func rude(r bench.Result) (n int64) {
	for kind, times := range r.Errors {
		polite := strings.HasPrefix(kind, "503 ") || strings.HasPrefix(kind, "429 ")
		if !polite || strings.Contains(kind, "without Retry-After") {
			n += times
		}
	}
	return n
}

// cores is the mean number of busy CPUs.
func cores(of figure) figure {
	return func(r bench.Result) float64 { return of(r) * float64(r.Calls) / r.Seconds / 1e6 }
}
