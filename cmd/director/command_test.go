package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
)

// Pins a command that takes a reason but checks it by a rule of its own, or not at all.
func TestEachReasonIsTrimmedAndBounded(t *testing.T) {
	t.Parallel()
	tested := 0
	for _, cmd := range allCommands((&program{}).rootCommand()) {
		if cmd.Flags().Lookup("reason") == nil {
			continue
		}
		tested++
		check := func(reason string) error {
			require.NoError(t, cmd.Flags().Set("reason", reason))
			return cmd.PreRunE(cmd, argumentsFor(cmd))
		}
		err := check(strings.Repeat("ä", db.MaxReason+1))
		require.ErrorContains(t, err, "--reason is not allowed to have more than 500 characters", cmd.CommandPath())
		require.True(t, cli.IsUsage(err), cmd.CommandPath())

		err = check("  " + strings.Repeat("ä", db.MaxReason) + "\n")
		require.NotContains(t, errorText(err), "--reason", cmd.CommandPath())
		require.Equal(t, strings.Repeat("ä", db.MaxReason), cmd.Flags().Lookup("reason").Value.String(),
			cmd.CommandPath())
	}
	require.Greater(t, tested, 15)
}

func allCommands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		all = append(all, allCommands(sub)...)
	}
	return all
}

// argumentsFor returns arguments of the form that the usage of a command shows.
func argumentsFor(cmd *cobra.Command) (args []string) {
	for _, word := range strings.Fields(cmd.Use)[1:] {
		switch {
		case strings.HasPrefix(word, "REGION/APP/VERSION"):
			args = append(args, "eu/arena/v1")
		case strings.HasPrefix(word, "DEPLOYMENT"):
			args = append(args, "01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10")
		default:
			args = append(args, "some")
		}
	}
	return args
}
