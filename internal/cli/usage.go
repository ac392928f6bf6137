package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// usageError says that a program was called in a way it does not know.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage marks err as a wrong use of the program, which has an exit code of its own.
func Usage(err error) error { return usageError{err} }

// IsUsage tells whether err is, or wraps, an error marked by [Usage].
func IsUsage(err error) bool {
	var u usageError
	return errors.As(err, &u)
}

// ExitCode is 0 for nil, 2 for a wrong use of the program, and 1 for every other error.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case IsUsage(err):
		return 2
	default:
		return 1
	}
}

// Exactly wants n arguments, as cobra.ExactArgs does; anything else is a wrong use.
func Exactly(n int) cobra.PositionalArgs { return orUsage(cobra.ExactArgs(n)) }

// AtLeast wants n arguments or more; fewer are a wrong use.
func AtLeast(n int) cobra.PositionalArgs { return orUsage(cobra.MinimumNArgs(n)) }

func orUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage(err)
		}
		return nil
	}
}

// Family makes cmd a command that only has sub-commands: it prints its help, and suggests the nearest sub-command for a
// name that it does not know.
func Family(cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		if near := Nearest(args[0], names); near != "" {
			return Usage(fmt.Errorf("unknown command %q for %q, did you mean %q?", args[0], cmd.CommandPath(), near))
		}
		return Usage(fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(members...)
	return cmd
}
