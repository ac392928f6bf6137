package bench

import "context"

// TurnFunc is a turn of a scenario that is not in Scenarios; package bench/openmatch has some. Calls that it makes with
// [Turn.Timed] are measured. Its ctx ends with the run's. A failure with a method Kind() string is counted under that
// kind, any other under "not sent".
type TurnFunc func(ctx context.Context, t Turn) error

// Turn is one turn of a caller. It is valid until its TurnFunc returns.
type Turn struct{ caller *caller }

// Caller returns the number of the caller, from 0 on. A caller never takes two turns at once.
func (t Turn) Caller() int { return t.caller.n }

// Timed measures a call as a step. The first call of a turn counts from when the turn was due. The latency of a turn is
// the sum of its calls.
func (t Turn) Timed(step string, call func() error) error { return t.caller.timed(step, call) }

// Unmeasured does work between calls, whose time is not measured.
func (t Turn) Unmeasured(do func() error) error { return t.caller.unmeasured(do) }

// scenario returns the scenario of the run.
func (o *Options) scenario() scenario {
	if o.Turn == nil && o.Protocol == nil {
		return scenarios[o.Scenario]
	}
	return scenario{turn: func(c *caller) error { return o.Turn(c.client.ctx, Turn{c}) }, calls: 1, fleetless: true,
		usual: Load{Tickets: o.Tickets}}
}
