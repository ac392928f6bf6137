package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/bench"
)

func (p *program) bench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench SCENARIO",
		Short: "Measure how fast a director answers",
		Long: "Puts a load on a director and prints throughput and latency. Each caller asks again as soon as it has its answer.\n\n" +
			"  matchmake     another player each time asks for a seat\n" +
			"  resolve       another player each time exchanges a handle for a session token\n" +
			"  heartbeat     game servers beat, one for each caller\n" +
			"  session-life  another player each time: matchmake, resolve, joined, left\n\n" +
			"Without --url it measures a director of its own in this process, with default settings, no limit per player, and a durable\n" +
			"Postgres in a temporary directory (of TMPDIR: choose the disk that you want to measure). Load and director then share\n" +
			"this machine. With --url it measures a running one: it registers game servers in a region of its own, leaves closed\n" +
			"sessions in its history, and needs a key that the director believes. Calls that fail are counted, and are no error.",
		Example: "  director bench matchmake\n" +
			"  director bench session-life --callers 256 --duration 30s --output json | jq .per_second\n" +
			"  director bench resolve --url http://localhost:8080        # a 'director dev' that runs here",
		Args:              exactly(1),
		ValidArgsFunction: completeScenario,
	}
	var o bench.Options
	embedded := cmd.Flags().Bool("embedded", false, "Measure a director of its own; so it is anyway without --url")
	cmd.Flags().StringSliceVar(&o.URLs, "url", nil, "Base URL of a replica; callers take several in turn")
	cmd.Flags().IntVar(&o.Callers, "callers", 64, fmt.Sprintf("How many call at a time, 1 to %d", bench.MaxCallers))
	cmd.Flags().IntVar(&o.Instances, "instances", 16, fmt.Sprintf("How many game servers to register, 1 to %d", bench.MaxCallers))
	cmd.Flags().DurationVar(&o.Duration, "duration", 10*time.Second, "How long to measure")
	cmd.Flags().DurationVar(&o.WarmUp, "warm-up", 2*time.Second, "How long to load before measuring")
	addFlags(cmd.Flags(), byBench)
	addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Scenario = args[0]
		for i, url := range o.URLs {
			o.URLs[i] = strings.TrimRight(url, "/")
		}
		if *embedded && len(o.URLs) > 0 {
			return usage(errors.New("--embedded and --url exclude each other"))
		}
		return p.runBench(cmd, o)
	}
	return cmd
}

func completeScenario(_ *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return bench.Scenarios(), cobra.ShellCompDirectiveNoFileComp
}

func (p *program) runBench(cmd *cobra.Command, o bench.Options) error {
	out, err := outputOf(cmd)
	if err != nil {
		return err
	}
	if !slices.Contains(bench.Scenarios(), o.Scenario) {
		return usage(fmt.Errorf("unknown scenario %q: there are %s", o.Scenario, strings.Join(bench.Scenarios(), ", ")))
	}
	if len(o.URLs) > 0 {
		conf, err := load(cmd.Flags(), p.environ, byBench)
		if err != nil {
			return err
		}
		return p.measure(cmd.Context(), out, o, target{conf: &conf.Config, urls: o.URLs})
	}
	return p.embed(cmd.Context(), func(ctx context.Context, t target) error { return p.measure(ctx, out, o, t) })
}

// target is the director that is measured.
type target struct {
	conf     *Config // how it is called
	urls     []string
	postgres string // its version, where it is known
}

// tokenTTL outlasts the players of a run, each of whom calls for moments.
const tokenTTL = 10 * time.Minute

// measure runs a scenario and prints what came out.
func (p *program) measure(ctx context.Context, out output, o bench.Options, t target) error {
	i, err := t.conf.issuer()
	if err != nil {
		return err
	}
	o.URLs = t.urls
	if len(t.conf.FleetTokens) > 0 {
		o.FleetToken = t.conf.FleetTokens[0]
	}
	o.AccessToken = func(sub string) (string, error) {
		raw, _, err := i.mint(accessClaims{Issuer: t.conf.AuthIssuer, Audience: t.conf.AuthAudience, Subject: sub}, tokenTTL)
		return raw, err
	}
	if isTerminal(p.stderr) {
		o.Progress = func(at bench.Progress) {
			fmt.Fprintf(p.stderr, "\r\x1b[K%s  %s of %s  %d calls, %d failed", o.Scenario,
				at.Elapsed.Round(100*time.Millisecond), at.Total, at.Calls, at.Failed)
		}
		defer fmt.Fprint(p.stderr, "\r\x1b[K")
	}
	result, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	return measured{result, machineHere(t.postgres)}.write(out)
}
