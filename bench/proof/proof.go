// Package proof holds the experiments that test a director's promises: how fast its hot path is, how it scales, and how
// it behaves under overload. An experiment is two tables. Its arms are what is measured: a load on a director or on a
// baseline (package baseline), in a laboratory of its own (package lab). Its claims are what must hold: a measure of the
// arms, and a target.
//
// Measures are ratios and differences of one run on one machine, as medians over rounds in which all arms take turns. A
// missed target is a finding, not an error.
//
// Each experiment is in the file of its name; arm.go, measure.go, claim.go and testbed.go are what they share. Package
// bench generates the loads; `director-bench prove` runs the experiments and prints their findings.
package proof

import (
	"context"
	"errors"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// Experiments are all experiments, in the order of the report.
func Experiments() []Experiment {
	return []Experiment{reach, packing, fleet, growth, snapshot, overload, openMatch, directorLoop, provision, waiting,
		rooms, launch}
}

// Experiment is an experiment.
type Experiment struct {
	Name  string // for the command line
	Title string
	About string // the question, in one line
	Takes string // duration with three rounds, such as "2 min"

	isOnce bool // a single round, whatever is asked for
	lab    lab.Options
	// prepare is called before the laboratory starts, and may change its options; what it begins ends with the testbed's
	// closers. nil: nothing.
	prepare func(b *testbed, l *lab.Options) error
	arms    func(ctx context.Context, b *testbed) ([]arm, error) // in the order in which they take turns
	claims  []claim
}

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

// say reports progress.
func (o Options) say(line string, args ...any) {
	if o.Say != nil {
		o.Say(line, args...)
	}
}

// choose returns the first value, or the second for a quick run.
func choose[T any](o Options, usual, quick T) T {
	if o.Quick {
		return quick
	}
	return usual
}

// Run measures all arms and judges all claims. Its laboratory is closed when it returns. After an error the findings
// are lost.
func (e Experiment) Run(ctx context.Context, o Options) (section Section, err error) {
	o.Rounds = max(o.Rounds, 1)
	if e.isOnce {
		o.Rounds = 1
	}
	b := &testbed{options: o}
	defer func() { err = errors.Join(err, b.close()) }()
	if e.prepare != nil {
		if err := e.prepare(b, &e.lab); err != nil {
			return Section{}, err
		}
	}
	if err := b.open(ctx, e.lab); err != nil {
		return Section{}, err
	}
	ctx, end := b.lab.Living(ctx)
	defer end()
	arms, err := e.arms(ctx, b)
	if err != nil {
		return Section{}, err
	}
	all, err := measureAll(ctx, o, arms)
	if err != nil {
		return Section{}, err
	}
	return Section{Name: e.Name, Title: e.Title, Findings: all.judge(e.claims), Runs: all.typical(arms)}, nil
}
