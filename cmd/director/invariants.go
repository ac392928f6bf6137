package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// violationRows bounds the printed rows of each violated invariant. Its view has the others.
const violationRows = 20

// invariantLine is a row of ops.invariants with, if it is violated, the first rows of its view.
type invariantLine struct {
	Name       string            `json:"name"`
	Violations int64             `json:"violations"`
	Rows       []json.RawMessage `json:"rows,omitempty"`
}

func (p *program) invariantsCommand() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "invariants",
		Short: "Check the invariants of the data",
		Long: "Checks the invariants: capacity, double seats, sessions without a server, counters, the signing key, tickets\n" +
			"and matches. Prints the number of violations of each, and their first rows. The same in SQL: ops.invariants and ops.invariant_….\n\n" +
			"Exit code 1 when any is violated. Repeat it after ten seconds: a violation that remains is a bug.",
		Example: "  director invariants\n  director invariants -o json | jq '.[] | select(.violations > 0)'",
		Args:    cli.Exactly(0),
	}, byOperator, func(ctx context.Context, op operator, _ []string) error {
		all, err := op.checkInvariants(ctx)
		if err != nil {
			return err
		}
		if err := writeInvariants(op.out, all); err != nil {
			return err
		}
		// After the rows: the error only names the invariants.
		return violationError(all)
	})
}

// checkInvariants counts the violations. It reads all hot tables, and so is for people and not for a timer.
func (op operator) checkInvariants(ctx context.Context) ([]invariantLine, error) {
	counts, err := opsview.Invariants.Read(ctx, op.store.Pool(), opsview.Any{}, opsview.Page{})
	if err != nil {
		return nil, err
	}
	all := make([]invariantLine, len(counts))
	for i, c := range counts {
		all[i].Name, all[i].Violations = c.Name, c.Violations
		if c.Violations == 0 {
			continue
		}
		// Not in one snapshot with the count: a violation may be gone by now.
		if all[i].Rows, err = opsview.ReadViolations(ctx, op.store.Pool(), c.Name, violationRows); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func writeInvariants(out cli.Output, all []invariantLine) error {
	err := cli.Write(out, all, []string{"invariant", "violations"},
		func(i invariantLine) []any { return []any{i.Name, i.Violations} })
	// As JSON, the rows are in the lines.
	if err != nil || out.JSON {
		return err
	}
	for _, i := range all {
		for _, row := range i.Rows {
			fmt.Fprintf(out.Writer, "%s: %s\n", i.Name, row)
		}
	}
	return nil
}

// violationError returns an error that names the violated invariants, or nil.
func violationError(all []invariantLine) error {
	var names []string
	for _, i := range all {
		if i.Violations > 0 {
			names = append(names, i.Name)
		}
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("violated: %s; check again after ten seconds: a violation that remains is a bug. Keep these rows and the events of that time",
		strings.Join(names, ", "))
}
