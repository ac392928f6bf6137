package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/matching/replayer"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/replay"
	"github.com/lattice-director/director/match/simulate"
)

func (p *program) simulateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Try a profile on simulated tickets, without a database",
		Long: "Simulates tickets and runs a profile on them in virtual time: an hour takes some seconds. It prints how long tickets wait,\n" +
			"how good the matches are, and how many tickets are never matched. The same flags and seed print the same numbers.\n\n" +
			"Tickets have the attributes that the rules compare, of the types that the profile declares. Numbers follow --skill, other values\n" +
			"are drawn evenly, unless --number or --text says otherwise. 'director replay' does the same with recorded tickets.",
		Example: "  director simulate --profile ranked.yaml\n" +
			"  director simulate --profile ranked.yaml --rate 0.5 --hours 24 --daily 0.8 --report page.html\n" +
			"  director simulate --profile ranked.yaml --players 20000 --skill bimodal:1500,400 --parties 1:60,2:25,5:15\n" +
			"  director simulate --profile ranked.yaml --number level=uniform:1,60 --text role=choice:tank:12,healer:13,dps:75\n" +
			"  director simulate --profile ranked.yaml --seed 2 -o json | jq .replayed.waiting_s",
		Args: cli.Exactly(0),
	}
	o, f := simulate.Defaults(), simulateFlags{}
	flags := cmd.Flags()
	flags.StringVar(&f.profile, "profile", "", "The profile, a YAML or JSON file; - reads standard input")
	flags.Float64Var(&o.Rate, "rate", o.Rate, "Tickets a second on average")
	flags.Float64Var(&o.Hours, "hours", o.Hours, "For how many hours tickets arrive")
	flags.IntVar(&f.players, "players", 0, "The number of players that queue within --hours, instead of --rate")
	flags.Float64Var(&o.Daily, "daily", 0,
		"How much the rate varies over the day, 0 to 1: with 0.8 it is 1.8 times the average at 20:00 UTC and 0.2 times at 8:00")
	flags.StringVar(&f.from, "from", o.From.Format(time.RFC3339), "When the first tickets arrive")
	flags.StringVar(&f.skill, "skill", "normal:1500,300",
		"The distribution of players' numbers: normal or bimodal, with mean and deviation")
	flags.StringArrayVar(&f.numbers, "number", nil, "The distribution of one number, such as level=uniform:1,60; "+
		"also normal:MEAN,DEVIATION, bimodal:MEAN,DEVIATION, constant:NUMBER")
	flags.StringArrayVar(&f.texts, "text", nil,
		"The distribution of one text or list, such as map=choice:dust:3,mirage:1, or constant:WORD; "+
			"role=… is the role that a player prefers")
	flags.StringVar(&f.parties, "parties", "1:70,2:20,3:10",
		"Sizes of parties, each with its share of the tickets; parties larger than a team are left out")
	flags.StringVar(&f.regions, "regions", "eu:45,us:35,ap:20",
		"Game regions, each with its share of the tickets, in the order of their distance; \"\": no latencies")
	flags.DurationVar(&o.Patience, "patience", 0,
		"The average time after which players cancel; 0: they wait for the profile's ttl")
	flags.Float64Var(&f.accept, "accept-rate", 1,
		"The probability with which a ticket accepts a match, if the profile has a ready check")
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "The seed of the simulated tickets")
	flags.StringVar(&f.report, "report", "", "Also write a page with plots to this file")
	requirePositiveUpTo(cmd, "rate", &o.Rate, simulate.MaxRate)
	requirePositiveUpTo(cmd, "hours", &o.Hours, simulate.MaxHours)
	requireAtLeast(cmd, "players", &f.players, 1)
	requireBetween(cmd, "daily", &o.Daily, 0, 1)
	requireAtLeast(cmd, "patience", &o.Patience, 0)
	requireBetween(cmd, "accept-rate", &f.accept, 0, 1)
	cli.AddOutput(cmd)
	// No settings: it needs neither a database nor the director.
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.runSimulate(cmd, f, o) }
	return cmd
}

// runSimulate simulates by the seed alone: the same flags give the same report.
func (p *program) runSimulate(cmd *cobra.Command, f simulateFlags, o simulate.Options) error {
	out, err := cli.OutputOf(cmd)
	if err != nil {
		return err
	}
	if err := f.fillOptions(p, &o); err != nil {
		return err
	}
	// A usage error: what it refuses are flags, such as a rate of 0.
	arrivals, err := simulate.Arrivals(o)
	if err != nil {
		return cli.Usage(err)
	}
	in := replay.Input{
		Version: decide.Version{Profile: o.Profile}, Seed: o.Seed, Begin: o.From, End: o.End(), Arrivals: arrivals,
		Accept: replay.Accept{Drawn: true, Rate: f.accept},
	}
	for _, r := range o.Regions {
		in.Regions = append(in.Regions, r.Name)
	}
	return p.printReplayed(cmd.Context(), "simulating", out, in, f.report)
}

// printReplayed runs a replay, whose progress has a word, and writes its report.
func (p *program) printReplayed(ctx context.Context, what string, out cli.Output, in replay.Input, file string) error {
	bar := newProgress(p.stderr, what, in.Begin, in.End)
	in.Progress = bar.showTime
	report, err := replay.Run(ctx, in)
	// Before the error, which would be printed into the line of the bar.
	bar.endBar()
	if err != nil {
		return err
	}
	if file != "" {
		if err := writeReplayPage(file, report); err != nil {
			return err
		}
	}
	return writeReplayReport(out, report)
}

// writeReplayPage replaces a file that is there.
func writeReplayPage(file string, report *replay.Report) (err error) {
	to, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	// A full disk may show only at Close.
	defer func() { err = errors.Join(err, to.Close()) }()
	return replayer.WritePage(to, report)
}
