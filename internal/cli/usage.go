package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/base/nearest"
)

// usageError marks an error of the command line: unknown or invalid arguments.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage marks err as a usage error, which has an exit code of its own.
func Usage(err error) error { return usageError{err} }

// IsUsage reports whether err is, or wraps, an error marked by [Usage].
func IsUsage(err error) bool {
	var u usageError
	return errors.As(err, &u)
}

// differsError marks that a dry run found something to change.
type differsError struct{ error }

func (e differsError) Unwrap() error { return e.error }

// Differs marks err as what a dry run says that would change something, which has an exit code of its own.
func Differs(err error) error { return differsError{err} }

// ExitCode returns 0 for nil, 2 for a usage error, 3 for a dry run that would change something, and 1 for every other
// error.
func ExitCode(err error) int {
	var differs differsError
	switch {
	case err == nil:
		return 0
	case IsUsage(err):
		return 2
	case errors.As(err, &differs):
		return 3
	default:
		return 1
	}
}

// Exactly requires n arguments, with a usage error for any other number.
func Exactly(n int) cobra.PositionalArgs { return Between(n, n) }

// AtLeast requires n arguments or more, with a usage error for fewer.
func AtLeast(n int) cobra.PositionalArgs { return Between(n, math.MaxInt) }

// Between requires least to most arguments, with a usage error for any other number that shows how the command is
// called.
func Between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch use := strings.TrimSuffix(cmd.UseLine(), " [flags]"); {
		case len(args) < least:
			return Usage(fmt.Errorf("an argument is missing: %s", use))
		case len(args) > most:
			return Usage(fmt.Errorf("unexpected argument %q: %s", args[most], use))
		// A variable of a script that is not set: as a filter, the empty text would select everything.
		case slices.Contains(args, ""):
			return Usage(fmt.Errorf("an argument is empty: %s", use))
		}
		return nil
	}
}

// Family makes cmd a command that only has sub-commands: it prints its help, and suggests the most similar sub-command
// for an unknown name.
func Family(cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		if near := nearest.Word(args[0], names); near != "" {
			return Usage(fmt.Errorf("unknown command %q for %q, did you mean %q?", args[0], cmd.CommandPath(), near))
		}
		return Usage(fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(members...)
	return cmd
}
