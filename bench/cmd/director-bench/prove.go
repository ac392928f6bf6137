package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/bench/proof"
	"github.com/lattice-director/director/internal/cli"
)

// prove is the command of the experiments.
func (p *program) prove() *cobra.Command {
	var names []cobra.Completion
	var about strings.Builder
	for _, e := range proof.Experiments() {
		names = append(names, cobra.CompletionWithDesc(e.Name, e.About))
		fmt.Fprintf(&about, "  %-10s %s (%s)\n", e.Name, e.About, e.Takes)
	}
	cmd := &cobra.Command{
		Use:   "prove [EXPERIMENT...]",
		Short: "Measure whether a director keeps its promises",
		Long: "Runs experiments, each with a director and a durable Postgres of its own, and prints their findings: a claim, the measured\n" +
			"value and the target.\n\n" + about.String() + "\n" +
			"Without names it runs all experiments. They compare values of the same round, and print medians over the rounds; the times\n" +
			"above are for 3 rounds. Nothing else should run on the machine. The data is in TMPDIR: choose the disk to measure. A missed\n" +
			"target does not fail the command.",
		Example: "  director-bench prove --awake\n" +
			"  director-bench prove reach packing --rounds 5\n" +
			"  director-bench prove reach --plots .         # and a picture: reach-latency.svg\n" +
			"  director-bench prove --output json | jq '.experiments[].findings[] | select(.met | not)'\n" +
			"  director-bench prove --quick                 # tests that everything works; its figures mean nothing",
		Args: cobra.ArbitraryArgs,
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)
	job, flags := &proving{program: p}, cmd.Flags()
	flags.IntVar(&job.options.Rounds, "rounds", 3,
		fmt.Sprintf("Rounds of measurements, 1 to %d; findings are medians over them", mostRounds))
	flags.BoolVar(&job.options.Quick, "quick", false,
		"Measure for seconds only, to test that everything works; the figures mean nothing")
	flags.StringVar(&job.plots, "plots", "", "Draw the latencies of each experiment as SVG into this directory")
	p.addMeasurement(cmd, job.checkFlags, job.run)
	return cmd
}

// proving holds the flags.
type proving struct {
	program     *program
	options     proof.Options
	plots       string // a directory; "": none are drawn
	experiments []proof.Experiment
}

// mostRounds is far more than a median needs.
const mostRounds = 100

// checkFlags refuses wrong flags, and selects the named experiments.
func (j *proving) checkFlags(names []string) error {
	if j.options.Rounds < 1 || j.options.Rounds > mostRounds {
		return fmt.Errorf("%d rounds: there must be 1 to %d", j.options.Rounds, mostRounds)
	}
	return j.selectExperiments(names)
}

// selectExperiments selects the named experiments in their usual order; all without names.
func (j *proving) selectExperiments(names []string) error {
	unknown, all := slices.Clone(names), []string{}
	for _, e := range proof.Experiments() {
		all = append(all, e.Name)
		if len(names) == 0 || slices.Contains(names, e.Name) {
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
	startLab, machine, err := j.program.labStarter()
	if err != nil {
		return err
	}
	found, o := findings{Quick: j.options.Quick, Rounds: j.options.Rounds}, j.options
	o.Start = startLab
	var failed []error
	for _, e := range j.experiments {
		o.Say = j.progressPrinter(e.Name)
		section, err := e.Run(ctx, o)
		if ctx.Err() != nil { // Ctrl-C: findings of a part would look like those of all
			return errors.Join(err, context.Cause(ctx))
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", e.Name, err))
			continue
		}
		found.Experiments = append(found.Experiments, section)
	}
	// After the experiments: each start of a laboratory sets its version of Postgres.
	found.Machine = machine.withStolenShare()
	if len(found.Experiments) > 0 {
		failed = append(failed, found.write(j.program.out))
	}
	if j.plots != "" {
		failed = append(failed, found.writePlots(j.plots))
	}
	return errors.Join(failed...)
}

// progressPrinter prints lines with the elapsed time: an experiment takes minutes.
func (j *proving) progressPrinter(name string) proof.SayFunc {
	begun := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(j.program.stderr, "%s %5.1f s: %s\n", name, time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
	}
}

// findings are the results of experiments on one machine. Scripts may read their JSON.
type findings struct {
	Quick       bool            `json:"quick"`
	Rounds      int             `json:"rounds"`
	Machine     machine         `json:"machine"`
	Experiments []proof.Section `json:"experiments"`
}

// write prints the claims, and the runs that they are about.
func (f findings) write(out cli.Output) error {
	if out.JSON {
		return cli.WriteJSON(out.Writer, f)
	}
	var lines [][]any
	var notes strings.Builder
	for _, e := range f.Experiments {
		for _, finding := range e.Findings {
			lines = append(lines, []any{e.Name, finding.Claim, finding.Measured, finding.Asked, finding.Met})
			if finding.Note != "" {
				fmt.Fprintf(&notes, "%s, %s: %s\n", e.Name, finding.Claim, finding.Note)
			}
		}
	}
	if err := writeTable(out, lines, "experiment", "claim", "measured", "target", "met"); err != nil {
		return err
	}
	fmt.Fprint(out.Writer, notes.String())
	for _, e := range f.Experiments {
		fmt.Fprintf(out.Writer, "\n%s\n", e.Title)
		if err := writeRuns(out, e.Runs); err != nil {
			return err
		}
	}
	method := "A quick run: these figures mean nothing."
	if !f.Quick {
		method = "Medians of " + plural(f.Rounds, "round") + ". Shown of each arm is the run with the median throughput."
	}
	_, err := fmt.Fprintf(out.Writer, "%s\n%s\n", method, f.Machine)
	return err
}
