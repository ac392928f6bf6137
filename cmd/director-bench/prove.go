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

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/proof"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/devlogin"
)

func (p *program) prove() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prove [EXPERIMENT...]",
		Short: "Measure whether a director does what it promises",
		Long: "Makes experiments, each with a director and a durable Postgres of its own, and prints what they found: a claim, what was\n" +
			"measured, what was asked for.\n\n" + experimentsText() + "\n" +
			"Without names it makes all. They compare what is measured in the same round, and tell medians of the rounds; with 3 of\n" +
			"them they take the times above. The machine should have nothing else to do meanwhile. The data lies in TMPDIR: choose the\n" +
			"disk that you want to measure. A target that is missed is a finding and no error, unless it is to be strict.",
		Example: "  director-bench prove --report proof.html\n" +
			"  director-bench prove reach packing --rounds 5\n" +
			"  director-bench prove --output json | jq '.experiments[].findings[] | select(.met | not)'\n" +
			"  director-bench prove --quick                 # does everything work? Its figures say nothing",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeExperiments,
	}
	job := &proving{program: p}
	job.addFlags(cmd.Flags())
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if job.out, err = cli.OutputOf(cmd); err != nil {
			return err
		}
		if err := job.check(args); err != nil {
			return cli.Usage(err)
		}
		return whileAwake(job.awake, wakeUpTime, func() error { return job.run(cmd.Context()) })
	}
	return cmd
}

func experimentsText() string {
	var text strings.Builder
	for _, e := range proof.Experiments() {
		fmt.Fprintf(&text, "  %-10s %s (%s)\n", e.Name, e.About, e.Takes)
	}
	return text.String()
}

func experimentNames() (names []string) {
	for _, e := range proof.Experiments() {
		names = append(names, e.Name)
	}
	return names
}

func completeExperiments(_ *cobra.Command, given []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, e := range proof.Experiments() {
		if !slices.Contains(given, e.Name) {
			names = append(names, cobra.CompletionWithDesc(e.Name, e.About))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// proving is what was asked for.
type proving struct {
	*program

	out           cli.Output
	rounds        int
	quick, strict bool
	awake         bool
	director      string // the program; "" is to be found
	report        string // a file, or ""
	plots         string // a directory, or ""
	experiments   []proof.Experiment
}

// mostRounds is far more than change a median.
const mostRounds = 100

func (j *proving) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&j.rounds, "rounds", 3, fmt.Sprintf("How often everything is measured, 1 to %d; what is told are medians", mostRounds))
	flags.BoolVar(&j.quick, "quick", false, "Measure so little that it takes seconds and says nothing")
	flags.BoolVar(&j.strict, "strict", false, "Fail when a target is missed")
	addAwakeFlag(flags, &j.awake)
	j.addDirectorFlag(flags, &j.director)
	flags.StringVar(&j.report, "report", "", "Write an HTML page with plots to this file, too")
	flags.StringVar(&j.plots, "plots", "", "Write each plot as an SVG to this directory, too")
}

// check chooses the experiments, in their own order.
func (j *proving) check(names []string) error {
	if j.rounds < 1 || j.rounds > mostRounds {
		return fmt.Errorf("%d rounds: there must be 1 to %d", j.rounds, mostRounds)
	}
	for _, name := range names {
		if !slices.Contains(experimentNames(), name) {
			return fmt.Errorf("unknown experiment %q: there are %s", name, strings.Join(experimentNames(), ", "))
		}
	}
	j.experiments = slices.DeleteFunc(proof.Experiments(), func(e proof.Experiment) bool {
		return len(names) > 0 && !slices.Contains(names, e.Name)
	})
	return nil
}

// run makes one experiment after another. One that fails does not keep the others from being made and told of.
func (j *proving) run(ctx context.Context) error {
	i, err := devlogin.New()
	if err != nil {
		return err
	}
	d, err := findDirector(ctx, j.director)
	if err != nil {
		return err
	}
	found := findings{quick: j.quick, rounds: j.rounds, machine: machineHere(d.version, "", j.awake)}
	o := proof.Options{Rounds: j.rounds, Quick: j.quick, Start: j.starter(i, d, &found.machine)}
	var failed []error
	for _, e := range j.experiments {
		o.Say = j.sayer(e.Name)
		section, err := e.Run(ctx, o)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", e.Name, err))
			continue
		}
		section.Title = e.Title
		found.all = append(found.all, experiment{e.Name, section})
	}
	found.machine = found.machine.measured()
	return errors.Join(append(failed, j.tell(found))...)
}

// starter makes laboratories. They share their players, whose tokens are made once, and Postgres, whose version is noted.
func (j *proving) starter(i devlogin.Issuer, d director, here *machine) proof.StartFunc {
	mint := minter(i, devlogin.Claims{})
	return func(ctx context.Context, o lab.Options) (*lab.Lab, bench.MintFunc, error) {
		l, err := j.startLab(ctx, i, d, o)
		if err == nil {
			here.Postgres = l.Version()
		}
		return l, mint, err
	}
}

// sayer writes lines with the time that has passed: an experiment takes minutes.
func (j *proving) sayer(name string) proof.SayFunc {
	begun := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(j.stderr, "%s %5.1f s: %s\n", name, time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
	}
}

// tell shows what was found.
func (j *proving) tell(found findings) error {
	if len(found.all) == 0 {
		return nil
	}
	if err := found.write(j.out); err != nil {
		return err
	}
	if j.report != "" {
		if err := writePage(j.report, found.page()); err != nil {
			return err
		}
	}
	if j.plots != "" {
		if err := found.writePlots(j.plots); err != nil {
			return err
		}
	}
	if missed, asked := found.missed(); j.strict && missed > 0 {
		return fmt.Errorf("%d of %s missed", missed, plural(asked, "target"))
	}
	return nil
}
