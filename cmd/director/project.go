package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/base/fault"
)

// byProjectCommands are the settings of the commands for projects.
const byProjectCommands = byOperator | byProjects

// onProject completes a command about the project args[0], or its key args[1]. An error says how to find those that
// exist.
func (p *program) onProject(cmd *cobra.Command, run databaseRun) *cobra.Command {
	return p.onDatabase(cmd, byProjectCommands, func(ctx context.Context, op operator, args []string) error {
		err := run(ctx, op, args)
		// By the codes of the control API: the texts of the store are for its callers.
		e, ok := errors.AsType[*fault.Error](err)
		switch {
		case ok && e.Code == "project_unknown":
			return fmt.Errorf("there is no project %q; 'director projects list' lists them", args[0])
		case ok && e.Code == "key_unknown":
			return fmt.Errorf("there is no key %q of a project %q; 'director projects keys %s' lists them", args[1],
				args[0], quoteForShell(args[0]))
		}
		return err
	})
}
