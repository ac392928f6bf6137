// Package proof holds the experiments that test a director's promises: how fast its hot path is, how it scales, and how
// it behaves under overload. Each experiment runs in a laboratory of its own (package lab), compares with baselines
// where there are some (package baseline), and ends in findings: a claim, a measured value and a target.
//
// Findings are ratios and differences measured in one run on one machine, as medians over rounds in which all trials
// take turns. A missed target is a finding, not an error.
//
// Each experiment is in the file of its name; they share the testbed, the rounds and the findings. Package bench
// generates the loads; `director-bench prove` runs the experiments and prints their findings.
package proof

import (
	"context"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// Options are those of all experiments. Start is required.
type Options struct {
	Rounds int       // medians are taken over the rounds; 0 is 1
	Quick  bool      // small sizes and durations, with which findings mean nothing: a test that everything works
	Start  StartFunc // required
	Say    SayFunc   // is called with lines of progress; nil: no progress
}

// StartFunc starts a laboratory, and returns it with a function that makes access tokens which its director accepts. It
// sets the JWKS, the directory and the environment; the other options are the experiment's.
type StartFunc func(ctx context.Context, o lab.Options) (*lab.Lab, bench.MintFunc, error)

// SayFunc receives a line without its end, with arguments as of fmt.Sprintf.
type SayFunc func(format string, args ...any)

// Experiment is an experiment. Run returns a section without a title, after its laboratory is closed. After an error
// its findings are lost.
type Experiment struct {
	Name  string // for the command line
	Title string
	About string // the question, in one line
	Takes string // duration with three rounds, such as "2 min"
	Run   func(ctx context.Context, o Options) (Section, error)
}

// Experiments are all experiments, in the order of the report.
func Experiments() []Experiment {
	return []Experiment{reach, callers, capacity, packing, fleet, growth, snapshot, writer, dashboard, overload,
		regions, openMatch, directorLoop, provision, waiting, rooms, launch}
}

// say reports progress.
func (o Options) say(line string, args ...any) {
	if o.Say != nil {
		o.Say(line, args...)
	}
}

// of returns the first value, or the second for a quick run.
func of[T any](o Options, usual, quick T) T {
	if o.Quick {
		return quick
	}
	return usual
}
