package main

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/devlogin"
)

// What a director is compared with.
const (
	naive = "naive"
	noOp  = "no-op"
)

// subject is what a run is made on.
type subject struct {
	name     string // "" is the director that was asked for
	scenario string
	urls     []string
	meter    bench.Meter // nil: costs are not known
	run      runFunc     // nil is bench.Run
}

// runFunc makes a run, of whose options the scenario, the URLs, the meter and the callers are the subject's.
type runFunc func(ctx context.Context, o bench.Options) (bench.Result, error)

// says tells runs of the same callers apart.
func (s subject) says() string {
	if s.name == naive {
		return s.name + " " + s.scenario
	}
	return cmp.Or(s.name, s.scenario)
}

// run measures all that was asked for and shows it.
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
			all.runs = append(all.runs, measured{Subject: s.name, Result: result, name: s.says()})
		}
	}
	all.machine = all.machine.measured()
	for i := range all.runs {
		all.runs[i].Machine = all.machine
	}
	if err := all.write(b.out); err != nil || b.report == "" {
		return err
	}
	return all.writeReport(b.report)
}

func (b *benchmark) measureOne(ctx context.Context, s subject, callers int) (bench.Result, error) {
	o := b.Options
	o.Scenario, o.URLs, o.Meter, o.Callers = s.scenario, s.urls, s.meter, callers
	if cli.IsTerminal(b.stderr) {
		bar := newProgressBar(b.stderr, s.says(), callers)
		o.Progress = bar.show
		defer bar.clear()
	}
	if s.run != nil {
		return s.run(ctx, o)
	}
	return bench.Run(ctx, o)
}

// tokenTTL outlasts the longest run.
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
