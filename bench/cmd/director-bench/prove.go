package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lattice-director/director/bench/proof"
)

// prove is the command of the experiments.
func (p *program) prove() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prove [EXPERIMENT...]",
		Short: "Measure whether a director keeps its promises",
		Long: "Runs experiments, each with a director and a durable Postgres of its own, and prints their findings: a claim, the measured\n" +
			"value and the target.\n\n" + experimentsText() + "\n" +
			"Without names it runs all experiments. They compare values of the same round, and print medians over the rounds; the times\n" +
			"above are for 3 rounds. Nothing else should run on the machine. The data is in TMPDIR: choose the disk to measure. A missed\n" +
			"target fails the command only with --strict.",
		Example: "  director-bench prove --awake\n" +
			"  director-bench prove reach packing --rounds 5\n" +
			"  director-bench prove reach --plots .         # and a picture: reach-latency.svg\n" +
			"  director-bench prove --output json | jq '.experiments[].findings[] | select(.met | not)'\n" +
			"  director-bench prove --quick                 # tests that everything works; its figures mean nothing",
		Args: cobra.ArbitraryArgs,
	}
	var names []cobra.Completion
	for _, e := range proof.Experiments() {
		names = append(names, cobra.CompletionWithDesc(e.Name, e.About))
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)
	job := &proving{program: p}
	job.addFlags(cmd.Flags())
	p.addMeasurement(cmd, job.check, job.run)
	return cmd
}

// experimentsText lists all experiments for the help.
func experimentsText() string {
	var text strings.Builder
	for _, e := range proof.Experiments() {
		fmt.Fprintf(&text, "  %-10s %s (%s)\n", e.Name, e.About, e.Takes)
	}
	return text.String()
}

// proving holds the flags.
type proving struct {
	program     *program
	rounds      int
	isQuick     bool
	isStrict    bool
	plots       string // a directory; "": none are drawn
	experiments []proof.Experiment
}

// mostRounds is far more than a median needs.
const mostRounds = 100

// addFlags adds those that other commands do not have.
func (j *proving) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&j.rounds, "rounds", 3,
		fmt.Sprintf("Rounds of measurements, 1 to %d; findings are medians over them", mostRounds))
	flags.BoolVar(&j.isQuick, "quick", false,
		"Measure for seconds only, to test that everything works; the figures mean nothing")
	flags.BoolVar(&j.isStrict, "strict", false, "Fail when a target is missed")
	flags.StringVar(&j.plots, "plots", "",
		"Draw the latencies of each experiment as SVG into this directory")
}

// check selects the experiments, in their usual order.
func (j *proving) check(names []string) error {
	if j.rounds < 1 || j.rounds > mostRounds {
		return fmt.Errorf("%d rounds: there must be 1 to %d", j.rounds, mostRounds)
	}
	unknown, all := slices.Clone(names), []string{}
	for _, e := range proof.Experiments() {
		if all = append(all, e.Name); len(names) == 0 || slices.Contains(names, e.Name) {
			j.experiments = append(j.experiments, e)
		}
		unknown = slices.DeleteFunc(unknown, func(name string) bool { return name == e.Name })
	}
	if len(unknown) > 0 {
		return fmt.Errorf("unknown experiment %q: there are %s", unknown[0], strings.Join(all, ", "))
	}
	return nil
}

// run runs one experiment after another. When one fails, the others are still run and printed.
func (j *proving) run(ctx context.Context) error {
	start, here, err := j.program.laboratories(ctx)
	if err != nil {
		return err
	}
	found := findings{Quick: j.isQuick, Rounds: j.rounds}
	o := proof.Options{Rounds: j.rounds, Quick: j.isQuick, Start: start}
	var failed []error
	for _, e := range j.experiments {
		o.Say = j.progressPrinter(e.Name)
		section, err := e.Run(ctx, o)
		if ctx.Err() != nil { // Ctrl-C: findings of a part would look like those of all
			return err
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", e.Name, err))
			continue
		}
		found.Experiments = append(found.Experiments, section)
	}
	found.Machine = here.measured()
	return errors.Join(append(failed, j.print(found))...)
}

// progressPrinter prints lines with the elapsed time: an experiment takes minutes.
func (j *proving) progressPrinter(name string) proof.SayFunc {
	begun := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(j.program.stderr, "%s %5.1f s: %s\n", name, time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
	}
}

// print prints the findings.
func (j *proving) print(found findings) error {
	if len(found.Experiments) == 0 {
		return nil
	}
	if err := found.write(j.program.out); err != nil {
		return err
	}
	if j.plots != "" {
		if err := found.writePlots(j.plots); err != nil {
			return err
		}
	}
	if missed, all := found.countTargets(); j.isStrict && missed > 0 {
		return fmt.Errorf("%d of %s missed", missed, plural(all, "target"))
	}
	return nil
}
