package bench

import "context"

// TurnFunc is what a caller does over and over, where that is none of Scenarios: package bench/openmatch has some. What it
// does with [Turn.Timed] is measured. Its ctx ends with the run's. A failure with a method Kind() string is counted by
// that; any other is "not sent".
type TurnFunc func(ctx context.Context, t Turn) error

// Turn is a caller's, while its TurnFunc runs.
type Turn struct{ caller *caller }

// Caller tells who takes the turn, from 0 on. Nobody else takes one for it meanwhile.
func (t Turn) Caller() int { return t.caller.n }

// Timed measures a call as a step. The first of a turn counts from when the turn was due, and the turn takes as long as all
// its calls together.
func (t Turn) Timed(step string, call func() error) error { return t.caller.timed(step, call) }

// Unmeasured is for what has to be done in between.
func (t Turn) Unmeasured(do func() error) error { return t.caller.unmeasured(do) }

// scenario is what a turn of the run does.
func (o *Options) scenario() scenario {
	if o.Turn == nil {
		return scenarios[o.Scenario]
	}
	return scenario{turn: func(c *caller) error { return o.Turn(c.client.ctx, Turn{c}) }, calls: 1, fleetless: true}
}
