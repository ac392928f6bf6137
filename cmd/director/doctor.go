package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/doctor"
)

// diagnosis is the output of `doctor`.
type diagnosis doctor.Diagnosis

func (p *program) doctorCommand() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "doctor",
		Short: "Check the installation, and print what to fix first",
		Long: "Checks the database, the schema, replicas, workers, keys, the fleet, refused players, waiting tickets, Rivalis' agents, pools and\n" +
			"common causes of a slow Postgres. Prints ok, warn\n" +
			"or fail for each, the worst first: what was seen, why, what to do, and the section of docs/runbook.md that says more. It\n" +
			"changes nothing but one row, which tests whether the database takes writes.\n\n" +
			"Exit code 1 when a check fails; warnings alone are 0. The role needs the views of schema ops and pg_read_all_stats.",
		Example: "  director doctor\n  director doctor -o json | jq -r '.checks[] | select(.state != \"ok\") | .says'",
		Args:    cli.Exactly(0),
	}, byOperator|byDoctor, func(ctx context.Context, op operator, _ []string) error {
		checks := op.conf.config.doctorOptions()
		checks.Store = op.store
		// Every check has its own answer: an unreachable database is a finding, and no error of the command.
		d := diagnosis(checks.Examine(ctx))
		if err := writeDetails(op.out, d, diagnosis.writeText); err != nil {
			return err
		}
		return d.exitError()
	})
}

// writeText prints the findings in their order, the worst first, each with what to do below it.
func (d diagnosis) writeText(out cli.Output) error {
	for _, f := range d.Checks {
		fmt.Fprintf(out.Writer, "%-4s  %-13s  %s\n", f.State, f.Check, f.Says)
		for _, line := range detailLines(f) {
			fmt.Fprintf(out.Writer, "%21s> %s\n", "", line)
		}
	}
	if d.First == "" {
		_, err := fmt.Fprintln(out.Writer, "\nNo problems found.")
		return err
	}
	_, err := fmt.Fprintf(out.Writer, "\nFirst: %s\n", d.First)
	return err
}

// detailLines are the cause of a finding, what to do, and where to read more.
func detailLines(f doctor.Finding) (lines []string) {
	if f.Cause != "" {
		lines = append(lines, "because: "+f.Cause)
	}
	if f.Do != "" {
		lines = append(lines, f.Do)
	}
	if f.Section != "" {
		lines = append(lines, fmt.Sprintf("docs/runbook.md, %q", f.Section))
	}
	return lines
}

// exitError returns nil for warnings alone, so that an alarm on the exit code means that something is broken.
func (d diagnosis) exitError() error {
	if d.State != doctor.Fail {
		return nil
	}
	return errors.New("a check failed")
}
