package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/openmatch"
	"github.com/lattice-director/director/bench/orchestrator"
)

// The baselines of the scenarios of Open Match.
const (
	echo   = "echo"
	commit = "commit"
)

// openMatchLoad holds the flags of the scenarios of Open Match.
type openMatchLoad struct {
	connections, watchers int
	window                time.Duration
}

func (l *openMatchLoad) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&l.connections, "connections", 8, fmt.Sprintf("Connections that callers of the Open Match API share, 1 to %d", openmatch.MaxConnections))
	flags.IntVar(&l.watchers, "watchers", 5_000, fmt.Sprintf("Idle streams of watch, 1 to %d", openmatch.MaxWatchers))
	flags.DurationVar(&l.window, "window", 250*time.Millisecond, "How long calls can join a cycle of matching, for the director that it starts")
}

func allScenarios() []string {
	return slices.Sorted(slices.Values(slices.Concat(bench.Scenarios(), openmatch.Scenarios(), orchestrator.Scenarios())))
}

func (b *benchmark) ofOpenMatch() bool { return slices.Contains(openmatch.Scenarios(), b.Scenario) }

// setUsualLoad sets the usual load of a scenario that has one where flags do not set it.
func (b *benchmark) setUsualLoad(flags *pflag.FlagSet) {
	usual := bench.Usual(b.Scenario)
	if b.ofOpenMatch() {
		usual.Callers, usual.Rate = openmatch.Usual(b.Scenario)
	}
	if b.ofOrchestrator() {
		usual.Callers, _, _ = orchestrator.Usual(b.Scenario)
	}
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

func (b *benchmark) checkLoad(o bench.Options) error {
	switch {
	case b.ofOpenMatch():
		load := b.openMatchOptions(o)
		return load.Check()
	case b.ofOrchestrator():
		load := b.orchestratorOptions(o)
		return load.Check()
	}
	return o.Check()
}

func (b *benchmark) openMatchOptions(o bench.Options) openmatch.Options {
	l, token := b.openMatch, ""
	if len(b.URLs) > 0 {
		token = b.running.lobbyToken
	}
	return openmatch.Options{Options: o, Token: token, Connections: l.connections, Watchers: l.watchers}
}

// openMatchSubject is a subject that is called over gRPC.
func (b *benchmark) openMatchSubject(addrs []string, meter bench.Meter) subject {
	return subject{scenario: b.Scenario, urls: addrs, meter: meter, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
		return openmatch.Run(ctx, b.openMatchOptions(o))
	}}
}

// labSettings are the settings of a laboratory's director that differ from its defaults.
func (b *benchmark) labSettings() []string {
	switch {
	case b.ofOpenMatch():
		return []string{"DIRECTOR_OM_REGISTRATION=" + b.openMatch.window.String()}
	case b.ofMatch():
		return []string{lab.KeepTickets}
	case b.ofOrchestrator():
		return []string{"DIRECTOR_ORCHESTRATOR_AGENT_KEYS=" + b.orchestratorKeys.agent, "DIRECTOR_ORCHESTRATOR_ADMIN_KEYS=" + b.orchestratorKeys.admin}
	}
	return nil
}

// openMatchSubjects are the director and, if requested, an echo behind the same stack and single-row commits.
func (b *benchmark) openMatchSubjects(ctx context.Context, l *lab.Lab) ([]subject, error) {
	director := b.openMatchSubject(grpcAddrsOf(l.Replicas()), l)
	if !b.baselines {
		return []subject{director}, nil
	}
	baselines, err := l.Baselines(ctx)
	if err != nil {
		return nil, err
	}
	echoes := b.openMatchSubject(grpcAddrsOf(baselines), l.Meter(baselines...))
	echoes.name, echoes.scenario = echo, b.echoed()
	run := echoes.run
	echoes.run = func(ctx context.Context, o bench.Options) (bench.Result, error) { return run(ctx, b.singleCallLoad(o)) }
	return []subject{director, echoes, {name: commit, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
		o = b.singleCallLoad(o)
		return baseline.Commits(ctx, l.URL(), o.Callers, o.WarmUp, o.Duration)
	}}}, nil
}

// echoed is the scenario of the echo.
func (b *benchmark) echoed() string {
	if b.Scenario == "query" {
		return b.Scenario
	}
	return "tickets"
}

// singleCallLoad is the load of single calls to which one turn of a scenario is compared.
func (b *benchmark) singleCallLoad(o bench.Options) bench.Options {
	if b.Scenario == "fetch" || b.Scenario == "ticket-life" {
		o.Callers, o.Rate = openmatch.Usual("tickets")
	}
	return o
}

func grpcAddrsOf(processes []*lab.Process) (addrs []string) {
	for _, p := range processes {
		addrs = append(addrs, p.GRPC)
	}
	return addrs
}
