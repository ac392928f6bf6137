package main

import (
	"context"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
)

// notice is the baseline of a notification between two connections.
const notice = "notice"

// ofMatch reports whether the scenario is one of the director loop.
func (b *benchmark) ofMatch() bool { return strings.HasPrefix(b.Scenario, "match-") }

// matchSubjects returns the director and, if requested, the baselines of a ticket's life: a call without the
// database, a notification, and single-row commits.
func (b *benchmark) matchSubjects(ctx context.Context, l *lab.Lab) ([]subject, error) {
	director := subject{scenario: b.Scenario, urls: lab.URLs(l.Replicas()), meter: l}
	if !b.baselines {
		return []subject{director}, nil
	}
	baselines, err := l.Baselines(ctx)
	if err != nil {
		return nil, err
	}
	return []subject{
		director,
		{name: noOp, scenario: "noop", urls: lab.URLs(baselines), meter: l.Meter(baselines...)},
		{name: notice, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
			return baseline.Notices(ctx, l.URL(), o.WarmUp, o.Duration)
		}},
		{name: commit, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
			return baseline.Commits(ctx, l.URL(), max(o.Callers, 32), o.WarmUp, o.Duration)
		}},
	}, nil
}
