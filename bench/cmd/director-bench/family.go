package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// family is the scenarios that share a protocol and its settings. Its methods are called after the flags are parsed, except for scenarios and
// addFlags.
type family interface {
	scenarios() []string
	addFlags(flags *pflag.FlagSet)
	// usual returns the default load of a scenario; the zero value if it has none of its own.
	usual() bench.Load
	checkURL(url string) error
	checkLoad(o bench.Options) error
	// lab returns what the laboratory's director serves.
	lab() lab.Options
	// subjects returns the director of a laboratory and, if requested, its baselines.
	subjects(ctx context.Context, l *lab.Lab) ([]subject, error)
	// runningSubject returns a director that runs elsewhere, and sets the credentials of callers.
	runningSubject() (subject, error)
}

// overHTTP is the methods of families that are called over HTTP, with the turns of package bench.
type overHTTP struct{ *benchmark }

func (overHTTP) addFlags(*pflag.FlagSet)         {}
func (f overHTTP) usual() bench.Load             { return bench.Usual(f.Scenario) }
func (overHTTP) checkLoad(o bench.Options) error { return o.Check() }

func (f overHTTP) checkURL(url string) error {
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return fmt.Errorf("--url %s: %s is called over HTTP, at http://host:port or https://host:port", url, f.Scenario)
	}
	return nil
}

func newFamilies(b *benchmark) []family {
	web := overHTTP{b}
	return []family{&placementFamily{web}, &loopFamily{placementFamily{web}}, &openMatchFamily{benchmark: b}, &rivalisFamily{overHTTP: web}, &lobbyFamily{overHTTP: web}}
}

// family returns the family of the scenario, nil if there is no such scenario.
func (b *benchmark) family() family {
	for _, f := range b.families {
		if slices.Contains(f.scenarios(), b.Scenario) {
			return f
		}
	}
	return nil
}

func (b *benchmark) allScenarios() (names []string) {
	for _, f := range b.families {
		names = append(names, f.scenarios()...)
	}
	slices.Sort(names)
	return names
}

// setUsualLoad sets the usual load of a scenario that has one where flags do not set it.
func (b *benchmark) setUsualLoad(flags *pflag.FlagSet) {
	usual := b.family().usual()
	if usual.Callers == 0 {
		return
	}
	if !flags.Changed("callers") {
		b.sweep = []int{usual.Callers}
	}
	if !flags.Changed("rate") {
		b.Rate = usual.Rate
	}
}
