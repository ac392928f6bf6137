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
