package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Protocol is scenarios that are not called over the HTTP API of players and game servers, such as those of package
// bench/openmatch. Make it with [NewProtocol].
type Protocol struct {
	usual map[string]Load
	check func(o *Options) error
	run   func(ctx context.Context, o Options) (Result, error)
}

// ProtocolScenario is a scenario of a protocol, whose runs have the state L.
type ProtocolScenario[L any] struct {
	Usual   Load
	Prepare func(run L, ctx context.Context) error // before the first turn; nil: nothing
	Turn    func(run L, ctx context.Context, t Turn) error
}

// ProtocolRun is a run in progress. Its methods are called one after another.
type ProtocolRun interface {
	// Connect opens the connections of callers.
	Connect(ctx context.Context) error
	// Finish ends all that the run began, also after an error and after ctx has ended. It may complete the result.
	Finish(ctx context.Context, result *Result) error
}

// NewProtocol makes a protocol of scenarios by name. check validates options as far as they are the protocol's, and may
// be nil; begin makes the state of a run, without connections.
func NewProtocol[L ProtocolRun](scenarios map[string]ProtocolScenario[L], check func(o *Options) error,
	begin func(o Options) L) *Protocol {
	p := &Protocol{usual: map[string]Load{}, check: check}
	for name, s := range scenarios {
		p.usual[name] = s.Usual
	}
	p.run = func(ctx context.Context, o Options) (result Result, err error) {
		s, run := scenarios[o.Scenario], begin(o)
		defer func() { err = errors.Join(err, run.Finish(ctx, &result)) }()
		if err := run.Connect(ctx); err != nil {
			return result, err
		}
		if s.Prepare != nil {
			if err := s.Prepare(run, ctx); err != nil {
				return result, err
			}
		}
		o.Turn = func(ctx context.Context, t Turn) error { return s.Turn(run, ctx, t) }
		return generate(ctx, o)
	}
	return p
}

// Scenarios returns the names of all scenarios, sorted.
func (p *Protocol) Scenarios() []string { return slices.Sorted(maps.Keys(p.usual)) }

// Usual returns the usual load of a scenario.
func (p *Protocol) Usual(scenario string) Load { return p.usual[scenario] }

// checkOptions validates the options that only protocols have, and sets the usual load where an option has none. What a
// scenario does not have becomes 0.
func (p *Protocol) checkOptions(o *Options) error {
	usual, known := p.usual[o.Scenario]
	if !known {
		return fmt.Errorf("there is no scenario %q: there are %s", o.Scenario, strings.Join(p.Scenarios(), ", "))
	}
	for _, n := range []struct {
		option        *int
		usual, lowest int
		highest       int
		name          string
	}{
		{&o.Connections, usual.Connections, 1, MaxConnections, "connections"},
		{&o.Tickets, usual.Tickets, 1, MaxTickets, "tickets"},
		{&o.Watchers, usual.Watchers, 1, MaxWatchers, "watchers"},
		{&o.Agents, usual.Agents, 1, MaxAgents, "agents"},
	} {
		if *n.option = cmp.Or(*n.option, n.usual); n.usual == 0 {
			*n.option = 0
		} else if *n.option < n.lowest || *n.option > n.highest {
			return fmt.Errorf("%d %s: there must be %d to %d", *n.option, n.name, n.lowest, n.highest)
		}
	}
	switch {
	case o.Rooms < 0 || o.Rooms > MaxRooms:
		return fmt.Errorf("%d rooms: there must be 0 to %d", o.Rooms, MaxRooms)
	case o.Sessions < 0 || o.Sessions > MaxSessions:
		return fmt.Errorf("%d sessions: there must be 0 to %d", o.Sessions, MaxSessions)
	case usual.Alone && (o.Callers != 1 || o.Rate > 0):
		return fmt.Errorf("%s has one caller, and no rate", o.Scenario)
	case p.check == nil:
		return nil
	}
	return p.check(o)
}
