package main

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/dev/devlogin"
)

// subject is the target of a run.
type subject struct {
	name     string // "" is the director to be measured
	scenario string
	urls     []string
	meter    bench.Meter // nil: costs are not measured
	run      runFunc     // nil is bench.Run
}

// runFunc makes a run. The scenario, the URLs, the meter and the callers in its options come from the subject.
type runFunc func(ctx context.Context, o bench.Options) (bench.Result, error)

// label distinguishes runs with the same number of callers.
func (s subject) label() string {
	if s.name == naive {
		return s.name + " " + s.scenario
	}
	return cmp.Or(s.name, s.scenario)
}

// run makes all measurements and prints them.
func (b *benchmark) run(ctx context.Context) error {
	if len(b.URLs) > 0 {
		return b.onRunning(ctx)
	}
	return b.inLab(ctx)
}

// measure makes one run after another, on every subject with every number of callers.
func (b *benchmark) measure(ctx context.Context, director, postgres string, subjects ...subject) error {
	all := measurements{machine: machineHere(director, postgres, b.awake), scenario: b.Scenario}
	for _, callers := range b.sweep {
		for _, s := range subjects {
			result, err := b.measureOne(ctx, s, callers)
			if err != nil {
				return err
			}
			all.runs = append(all.runs, measured{Subject: s.name, Result: result, name: s.label()})
		}
	}
	all.machine = all.machine.measured()
	for i := range all.runs {
		all.runs[i].Machine = all.machine
	}
	return all.write(b.out)
}

func (b *benchmark) measureOne(ctx context.Context, s subject, callers int) (bench.Result, error) {
	o := b.Options
	o.Scenario, o.URLs, o.Meter, o.Callers = s.scenario, s.urls, s.meter, callers
	if cli.IsTerminal(b.stderr) {
		bar := newProgressBar(b.stderr, s.label(), callers)
		o.Progress = bar.show
		defer bar.clear()
	}
	if s.run != nil {
		return s.run(ctx, o)
	}
	return bench.Run(ctx, o)
}

// tokenTTL is longer than the longest run.
const tokenTTL = 24 * time.Hour

// minter makes access tokens, once for each player: runs have the same players.
func minter(i devlogin.Issuer, claims devlogin.Claims) bench.MintFunc {
	var made sync.Map
	return func(sub string) (string, error) {
		if raw, ok := made.Load(sub); ok {
			return raw.(string), nil
		}
		claims := claims
		claims.Subject = sub
		raw, _, err := i.Mint(claims, tokenTTL)
		made.Store(sub, raw)
		return raw, err
	}
}
