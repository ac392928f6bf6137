package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/cli"
)

// completePools completes REGION/APP/VERSION as the first argument.
func (p *program) completePools() cobra.CompletionFunc {
	return p.completeArgs(firstOnly(poolWords))
}

// parsePool splits REGION/APP/VERSION.
func parsePool(arg string) (edit provision.PoolEdit, err error) {
	parts := strings.Split(arg, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return edit, cli.Usage(fmt.Errorf("%q is no pool: it must be REGION/APP/VERSION, such as eu/arena/v7", arg))
	}
	return provision.PoolEdit{Region: parts[0], App: parts[1], Version: parts[2]}, nil
}

// changePool completes a command that changes the pool in its first argument.
func (p *program) changePool(cmd *cobra.Command, argCount int,
	change func(ctx context.Context, op operator, edit provision.PoolEdit, args []string) error) *cobra.Command {
	// The first argument is the pool; further ones are the command's own.
	cmd.Args = cli.Exactly(argCount)
	cmd.ValidArgsFunction = p.completePools()
	flags, edit := addAuthorship(cmd), parseFirst(cmd, parsePool)
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, args []string) error {
		// The flags have their values only once the command runs.
		edit.Author, edit.Reason = *flags.author, *flags.reason
		return refusalText(change(ctx, op, *edit, args))
	})
}

// pauseEnd says when a pause of a pool ends, for people.
func pauseEnd(until time.Time) string {
	// The end of the calendar stands for a pause without an end.
	if !until.Before(provision.Forever()) {
		return "an operator resumes it"
	}
	return until.UTC().Format(time.RFC3339)
}
