package main

import (
	"context"
	"slices"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/openmatch"
	"github.com/lattice-director/director/bench/realtime"
)

// The baselines, by the names of their runs.
const (
	naive  = "naive"
	noOp   = "no-op"
	notice = "notice" // of a notification between two connections
	echo   = "echo"
	commit = "commit"
)

// subjects returns the director of a laboratory and, if requested, its baselines.
func (b *benchmark) subjects(ctx context.Context, l *lab.Lab) ([]subject, error) {
	director := subject{scenario: b.Scenario, urls: lab.Addresses(l.Replicas(), b.family.address), meter: l}
	nothing := b.Scenario == noOpOf(b.Scenario)
	if b.family.baselines == nil || !b.baselines && !nothing {
		return []subject{director}, nil
	}
	all, err := b.family.baselines(b, ctx, l, director)
	if nothing {
		return all[len(all)-1:], err // the baselines serve it, and no director
	}
	return all, err
}

// noOpOf is the call that does nothing else than those of a scenario do beside their work.
func noOpOf(scenario string) string {
	if slices.Contains([]string{"heartbeat", "register", "fleet-noop"}, scenario) {
		return "fleet-noop"
	}
	return "noop"
}

// besideNaive adds the naive placement, where players are placed, and the no-op.
func (b *benchmark) besideNaive(ctx context.Context, l *lab.Lab, director subject) ([]subject, error) {
	none, err := b.noOp(ctx, l)
	if err != nil {
		return []subject{director}, err
	}
	if !slices.Contains([]string{"matchmake", "session-life"}, b.Scenario) {
		return []subject{director, none}, nil
	}
	return []subject{director, {name: naive, scenario: b.Scenario, urls: none.urls, meter: none.meter}, none}, nil
}

// besideCommits adds the baselines of a ticket's life: a call without the database, a notification, and single-row
// commits.
func (b *benchmark) besideCommits(ctx context.Context, l *lab.Lab, director subject) ([]subject, error) {
	none, err := b.noOp(ctx, l)
	return []subject{director, none, notices(l), commits(l)}, err
}

func (b *benchmark) noOp(ctx context.Context, l *lab.Lab) (subject, error) {
	baselines, err := l.Baselines(ctx)
	return subject{name: noOp, scenario: noOpOf(b.Scenario), urls: lab.Addresses(baselines, lab.Web),
		meter: l.Meter(baselines...)}, err
}

// notices are notifications from one connection to another.
func notices(l *lab.Lab) subject {
	return subject{name: notice, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
		return baseline.Notices(ctx, l.URL(), o.WarmUp, o.Duration)
	}}
}

// fewestCommitters make as many commits share a flush as under load.
const fewestCommitters = 32

// commits are single-row commits of as many callers as the load has, but at least fewestCommitters.
func commits(l *lab.Lab) subject {
	return subject{name: commit, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
		return baseline.Commits(ctx, l.URL(), max(o.Callers, fewestCommitters), o.WarmUp, o.Duration)
	}}
}

// besideEcho adds an echo behind the same stack and single-row commits, both with the load of single calls.
func (b *benchmark) besideEcho(ctx context.Context, l *lab.Lab, director subject) ([]subject, error) {
	echoed := "tickets"
	if b.Scenario == "query" {
		echoed = b.Scenario
	}
	single := func(o bench.Options) bench.Options {
		if b.Scenario == "fetch" || b.Scenario == "ticket-life" { // one of their turns is many calls
			usual := openmatch.Protocol.Usual("tickets")
			o.Callers, o.Rate = usual.Callers, usual.Rate
		}
		return o
	}
	echoes, err := b.echoes(ctx, l, echoed, single)
	return []subject{director, echoes, {name: commit,
		run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
			o = single(o)
			return baseline.Commits(ctx, l.URL(), o.Callers, o.WarmUp, o.Duration)
		}}}, err
}

// besideLobbyEcho adds an echo with the same WebSocket library, a notification, and single-row commits.
func (b *benchmark) besideLobbyEcho(ctx context.Context, l *lab.Lab, director subject) ([]subject, error) {
	echoes, err := b.echoes(ctx, l, realtime.Echoed, func(o bench.Options) bench.Options {
		o.Callers, o.Rate = 1, 0
		return o
	})
	return []subject{director, echoes, notices(l), commits(l)}, err
}

// echoes are calls of the scenario at the baselines, with a load of their own.
func (b *benchmark) echoes(ctx context.Context, l *lab.Lab, scenario string,
	change func(bench.Options) bench.Options) (subject, error) {
	baselines, err := l.Baselines(ctx)
	return subject{
		name: echo, scenario: scenario, urls: lab.Addresses(baselines, b.family.address), meter: l.Meter(baselines...),
		run: func(ctx context.Context, o bench.Options) (bench.Result, error) { return bench.Run(ctx, change(o)) },
	}, err
}
