package proof

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

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
	Name: "overload", Title: "Overload", Takes: "2 min",
	About: "Goodput, memory and health checks when twice as many calls arrive as a replica can answer",
	lab:   lab.Options{Env: []string{"DIRECTOR_MAX_IN_FLIGHT=512"}}, // a replica's default
	// Processes that the laboratory starts run on the first half of the CPUs.
	prepare: func(b *testbed, _ *lab.Options) error {
		if !b.options.hasOwnCPUs() {
			return nil
		}
		// The experiments that follow have all CPUs again.
		b.closers = append(b.closers, func() error { return keepTo(0, runtime.NumCPU()) })
		return keepTo(0, runtime.NumCPU()/2)
	},
	arms: overloadArms,
	claims: []claim{
		{"goodput at twice the capacity, as a share of it", reduceRounds(middle, percent,
			func(r round) float64 { return goodputOf(r[overloaded]) / r[atCapacity].PerSecond }, overloaded, atCapacity),
			atLeast(0.75)},
		{"failures other than 503 or 429 with Retry-After", explained(figure{rudeFailures, inFull}, overloaded),
			atMost(0)},
		{"p99 of successful calls", median(overloaded, successP99), atMost(callTimeout)},
		{"memory that 8,192 connections take of the replica", reduceRounds(highest, mebibytes,
			func(r round) float64 { return memory.read(r[overloaded]) - r[overloaded].Values["at rest"] }, overloaded),
			atMost(connections * 64 << 10)},
		answersSoon("/healthz"), answersSoon("/.well-known/jwks.json"),
		{"probes without an answer", total(failedBeside, overloaded), atMost(0)},
	},
}

const (
	atCapacity  = "matchmake, at capacity"
	callTimeout = 900 // milliseconds, a replica's default timeout of a call
	// connections is the limit of calls in flight, each on a connection: more than a replica admits, so that the replica
	// refuses calls.
	connections = 8192
)

// overloaded is the arm that the findings are about: twice the capacity.
const overloaded = "matchmake, 2 × as many"

// hasOwnCPUs reports whether load and director can be separated; a quick run does not measure.
func (o Options) hasOwnCPUs() bool {
	_, err := exec.LookPath("taskset")
	return err == nil && !o.Quick && runtime.NumCPU() > 1
}

// keepTo restricts this process, and processes that it starts from now on, to the CPUs from the first to before the
// end, of those that runtime.NumCPU counts.
func keepTo(first, end int) (err error) {
	args := []string{"--all-tasks", "--cpu-list", "--pid", fmt.Sprintf("%d-%d", first, end-1), strconv.Itoa(os.Getpid())}
	// A new thread inherits the CPUs of the thread that started it, so that the second pass finds no thread left to
	// restrict. A thread that ends meanwhile is an error of the command.
	for range 2 {
		_, err = exec.CommandContext(context.Background(), "taskset", args...).Output()
	}
	if err != nil {
		return fmt.Errorf("keep the load apart: %w", err)
	}
	return nil
}

// overloadArms measure the capacity, and each multiple of it.
func overloadArms(ctx context.Context, b *testbed) ([]arm, error) {
	if b.options.hasOwnCPUs() { // the load gets the half that the processes of the laboratory do not have
		if err := keepTo(runtime.NumCPU()/2, runtime.NumCPU()); err != nil {
			return nil, err
		}
	}
	atRest, err := b.lab.Read(ctx) // memory before any connection
	director, limit := b.director(lab.Web), 0.0
	load := b.options.loadPrefilled(matchmake)
	load.Load.Callers = manyCallers
	capacity := director.arm(atCapacity, load)
	capacity.complete = func(_ context.Context, r *bench.Result) error {
		limit = r.PerSecond
		return nil
	}
	arms := []arm{capacity}
	client := bench.NewClient(ctx)
	for _, multiple := range []float64{1.25, 1.5, 2} {
		a := director.arm(fmt.Sprintf("matchmake, %g × as many", multiple), load).callBeside(ctx, 50*time.Millisecond,
			[]string{"/healthz", "/.well-known/jwks.json"},
			func(_ context.Context, path string) error {
				return client.Do(bench.Request{Method: "GET", URL: director.urls[0] + path})
			})
		a.load.Load.Callers = connections
		a.preparation = append(a.preparation, func(context.Context) error {
			a.load.Load.Rate = max(multiple*limit, 1) // 0 would be a closed loop
			return nil
		})
		addProbes := a.complete
		a.complete = func(ctx context.Context, r *bench.Result) error {
			r.Values["at rest"] = float64(atRest.ServerRSS)
			return addProbes(ctx, r)
		}
		arms = append(arms, a)
	}
	return arms, err
}

// answersSoon is the claim about a path that is probed during the overload: a quarter of the usual timeout of an
// orchestrator's health check, one second.
func answersSoon(path string) claim {
	return claim{"p99 of GET " + path + " during the overload", medianValue(overloaded, path+" p99", millis), atMost(250)}
}

var successP99 = figure{func(r bench.Result) float64 {
	if r.Calls == r.Failed { // a p99 of nothing would be 0, and meet the target
		return math.NaN()
	}
	return r.Latency.P99
}, millis}

// goodputOf is the number of answers a second that arrived within the timeout.
func goodputOf(r bench.Result) float64 {
	within := 0.0
	for _, p := range r.Latency.Curve { // ascending: the last point within the timeout counts
		if p.MS <= callTimeout {
			within = p.Percentile / 100
		}
	}
	return r.PerSecond * within
}

// rudeFailures counts failures other than a 503 or 429 with Retry-After.
func rudeFailures(r bench.Result) (n float64) {
	for kind, times := range r.Errors {
		isPolite := strings.HasPrefix(kind, "503 ") || strings.HasPrefix(kind, "429 ")
		if !isPolite || strings.Contains(kind, "without Retry-After") {
			n += float64(times)
		}
	}
	return n
}
