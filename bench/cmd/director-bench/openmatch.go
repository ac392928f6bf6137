package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/openmatch"
)

// The baselines of the scenarios of Open Match.
const (
	echo   = "echo"
	commit = "commit"
)

// openMatchFamily is the scenarios of the Open Match API.
type openMatchFamily struct {
	*benchmark

	connections, watchers int
	window                time.Duration
}

func (*openMatchFamily) scenarios() []string { return openmatch.Scenarios() }

func (f *openMatchFamily) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&f.connections, "connections", 8, fmt.Sprintf("Connections that callers of the Open Match API share, 1 to %d", openmatch.MaxConnections))
	flags.IntVar(&f.watchers, "watchers", 5_000, fmt.Sprintf("Idle streams of watch, 1 to %d", openmatch.MaxWatchers))
	flags.DurationVar(&f.window, "window", 250*time.Millisecond, "How long calls can join a cycle of matching, for the director that it starts")
}

func (f *openMatchFamily) usual() (load bench.Load) {
	load.Callers, load.Rate = openmatch.Usual(f.Scenario)
	return load
}

func (f *openMatchFamily) checkURL(url string) error {
	if _, _, err := net.SplitHostPort(url); err != nil || strings.Contains(url, "//") {
		return fmt.Errorf("--url %s: %s is called over gRPC, at the host:port of a replica's --grpc-addr, without TLS", url, f.Scenario)
	}
	return nil
}

func (f *openMatchFamily) checkLoad(o bench.Options) error {
	load := f.options(o)
	return load.Check()
}

func (f *openMatchFamily) options(o bench.Options) openmatch.Options {
	token := ""
	if len(f.URLs) > 0 {
		token = f.running.lobbyToken
	}
	return openmatch.Options{Options: o, Token: token, Connections: f.connections, Watchers: f.watchers}
}

func (f *openMatchFamily) lab() lab.Options {
	return lab.Options{Env: []string{"DIRECTOR_OM_REGISTRATION=" + f.window.String()}}
}

func (f *openMatchFamily) runningSubject() (subject, error) { return f.subject(f.URLs, nil), nil }

// subject is a subject that is called over gRPC.
func (f *openMatchFamily) subject(addrs []string, meter bench.Meter) subject {
	return subject{scenario: f.Scenario, urls: addrs, meter: meter, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
		return openmatch.Run(ctx, f.options(o))
	}}
}

// subjects returns the director and, if requested, an echo behind the same stack and single-row commits.
func (f *openMatchFamily) subjects(ctx context.Context, l *lab.Lab) ([]subject, error) {
	director := f.subject(grpcAddrsOf(l.Replicas()), l)
	if !f.baselines {
		return []subject{director}, nil
	}
	baselines, err := l.Baselines(ctx)
	if err != nil {
		return nil, err
	}
	echoes := f.subject(grpcAddrsOf(baselines), l.Meter(baselines...))
	echoes.name, echoes.scenario = echo, f.echoed()
	run := echoes.run
	echoes.run = func(ctx context.Context, o bench.Options) (bench.Result, error) { return run(ctx, f.singleCallLoad(o)) }
	return []subject{director, echoes, {name: commit, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
		o = f.singleCallLoad(o)
		return baseline.Commits(ctx, l.URL(), o.Callers, o.WarmUp, o.Duration)
	}}}, nil
}

// echoed is the scenario of the echo.
func (f *openMatchFamily) echoed() string {
	if f.Scenario == "query" {
		return f.Scenario
	}
	return "tickets"
}

// singleCallLoad is the load of single calls to which one turn of a scenario is compared.
func (f *openMatchFamily) singleCallLoad(o bench.Options) bench.Options {
	if f.Scenario == "fetch" || f.Scenario == "ticket-life" {
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
