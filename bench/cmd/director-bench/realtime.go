package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/realtime"
	"github.com/lattice-director/director/internal/cli"
)

// lobbyFamily is the scenarios of the realtime lobby.
type lobbyFamily struct {
	overHTTP

	sessions int
}

func (*lobbyFamily) scenarios() []string { return realtime.Scenarios() }

func (f *lobbyFamily) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&f.sessions, "sessions", -1, fmt.Sprintf("Sessions of the realtime lobby beside those of callers, 0 to %d. "+
		"-1: as many as usual, of rooms-idle 10,000, of rooms-storm 5,000, of rooms-join 1,000, else none", realtime.MaxSessions))
}

func (f *lobbyFamily) usual() (load bench.Load) {
	load.Callers, load.Rate, _ = realtime.Usual(f.Scenario)
	return load
}

func (f *lobbyFamily) checkLoad(o bench.Options) error {
	load := f.options(o)
	return load.Check()
}

func (f *lobbyFamily) options(o bench.Options) realtime.Options {
	_, _, sessions := realtime.Usual(f.Scenario)
	if f.sessions >= 0 {
		sessions = f.sessions
	}
	token := ""
	if len(f.URLs) > 0 {
		token = f.variable("DIRECTOR_BENCH_PROJECT_TOKEN")
	}
	return realtime.Options{Options: o, Token: token, Sessions: sessions}
}

func (f *lobbyFamily) lab() lab.Options {
	return lab.Options{Worker: true, Realtime: true, Env: lab.OpenLobby()}
}

func (f *lobbyFamily) runningSubject() (subject, error) { return f.subject(f.URLs, nil), nil }

// subject is the director, called at the addresses of its realtime lobby.
func (f *lobbyFamily) subject(urls []string, meter bench.Meter) subject {
	return subject{scenario: f.Scenario, urls: urls, meter: meter, run: func(ctx context.Context, o bench.Options) (bench.Result, error) {
		return realtime.Run(ctx, f.options(o))
	}}
}

// subjects returns the director and, if requested, an echo with the same WebSocket library, a notification, and single-row commits.
func (f *lobbyFamily) subjects(ctx context.Context, l *lab.Lab) ([]subject, error) {
	director := f.subject(lab.RealtimeURLs(l.Replicas()), l)
	if !f.baselines {
		return []subject{director}, nil
	}
	baselines, err := l.Baselines(ctx)
	if err != nil {
		return nil, err
	}
	echoes := f.subject(lab.RealtimeURLs(baselines), l.Meter(baselines...))
	echoes.name, echoes.scenario = echo, realtime.Echoed
	run := echoes.run
	echoes.run = func(ctx context.Context, o bench.Options) (bench.Result, error) {
		o.Callers, o.Rate = 1, 0
		return run(ctx, o)
	}
	return []subject{director, echoes, notices(l), commits(l)}, nil
}

// rooms is the experiment about the realtime lobby, by the name of its scenarios.
func (p *program) rooms() *cobra.Command {
	cmd := p.prove()
	cmd.Use, cmd.Short, cmd.Args = "rooms", "Measure the realtime lobby: the same as 'prove rooms'", cli.Exactly(0)
	cmd.Long, cmd.Example, cmd.ValidArgsFunction = "", "", nil
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run(cmd, []string{"rooms"}) }
	return cmd
}
