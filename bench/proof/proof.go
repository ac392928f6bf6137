// Package proof is the experiments that show what a director promises: how far its hot path reaches, how it grows, what an
// overload does to it. Each is made in a laboratory of its own (package lab), against the baselines where there are such
// (package baseline), and ends in findings: a claim, what was measured, what was asked for.
//
// What counts are ratios and differences taken in one run on one machine, medians over rounds in which everything that is
// compared takes its turn. A target that is missed is a finding and no error.
//
// Each experiment lies in the file of its name; they share the bed, the rounds and the findings. Package bench puts the
// loads on, and `director-bench prove` makes the experiments and shows what they found.
package proof

import (
	"context"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/report"
)

// Options are how all experiments are made. Start is required.
type Options struct {
	Rounds int       // that medians are taken of; 0 is 1
	Quick  bool      // sizes and durations so small that findings mean nothing: to see that everything works
	Start  StartFunc // makes laboratories
	Say    SayFunc   // is told what is being done; nil: nobody is
}

// StartFunc starts a laboratory and gives what makes access tokens that its director believes. It sees to JWKS, to where
// the directory lies and to the environment; the other options are the experiment's.
type StartFunc func(ctx context.Context, o lab.Options) (*lab.Lab, bench.MintFunc, error)

// SayFunc is told a line without an end, as fmt.Sprintf takes it.
type SayFunc func(format string, args ...any)

// Experiment is one of several. Run returns when its laboratory is gone, a section without a title; what it has found until
// an error is lost.
type Experiment struct {
	Name  string // a word, for the command line
	Title string
	About string // a line: what is asked
	Takes string // about how long, with three rounds: "2 min"
	Run   func(ctx context.Context, o Options) (report.Section, error)
}

// Experiments are all there are, in the order in which they are told of.
func Experiments() []Experiment {
	return []Experiment{reach, callers, capacity, packing, fleet, growth, snapshot, writer, dashboard, overload, regions, openMatch}
}

// say tells what is being done.
func (o Options) say(line string, args ...any) {
	if o.Say != nil {
		o.Say(line, args...)
	}
}

// of gives the first, or the second where it is to be quick.
func of[T any](o Options, usual, quick T) T {
	if o.Quick {
		return quick
	}
	return usual
}
