package proof

import (
	"context"

	"github.com/lattice-director/director/bench/lab"
)

// Experiment is an experiment.
type Experiment struct {
	Name  string // for the command line
	Title string
	About string // the question, in one line
	Takes string // duration with three rounds, such as "2 min"

	isOnce bool // a single round, whatever is asked for
	parts  func(o Options) []part
	claims func(o Options) []claim
}

// part is arms that share a laboratory.
type part struct {
	lab lab.Options
	// is called before the laboratory starts, and may change its options; end is called after it has ended. nil: nothing
	prepare func(l *lab.Options) (end func() error, err error)
	arms    armsFunc
}

// armsFunc makes the arms of a part, in the order in which they take turns.
type armsFunc func(ctx context.Context, b *testbed) ([]arm, error)

// inOneLab is the parts of an experiment with a single laboratory.
func inOneLab(l lab.Options, arms armsFunc) func(Options) []part {
	return func(Options) []part { return []part{{lab: l, arms: arms}} }
}
