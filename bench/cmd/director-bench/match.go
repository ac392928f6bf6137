package main

import (
	"context"
	"slices"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
)

// notice is the baseline of a notification between two connections.
const notice = "notice"

// loopFamily is the scenarios of the director loop.
type loopFamily struct{ placementFamily }

func (*loopFamily) scenarios() []string {
	return slices.DeleteFunc(bench.Scenarios(), func(s string) bool { return !ofLoop(s) })
}

func (*loopFamily) lab() lab.Options {
	return lab.Options{Worker: true, Env: []string{lab.KeepTickets}}
}

// subjects returns the director and, if requested, the baselines of a ticket's life: a call without the database, a notification, and single-row
// commits.
func (f *loopFamily) subjects(ctx context.Context, l *lab.Lab) ([]subject, error) {
	director := subject{scenario: f.Scenario, urls: lab.URLs(l.Replicas()), meter: l}
	if !f.baselines {
		return []subject{director}, nil
	}
	baselines, err := l.Baselines(ctx)
	if err != nil {
		return nil, err
	}
	return []subject{
		director, {name: noOp, scenario: "noop", urls: lab.URLs(baselines), meter: l.Meter(baselines...)}, notices(l), commits(l),
	}, nil
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
