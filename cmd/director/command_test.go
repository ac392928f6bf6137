package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// Pins a number that a command ignores, or takes for another one, because nothing judges it.
func TestEachNumberHasARange(t *testing.T) {
	t.Parallel()
	bad := map[string][]string{"int": {"-7"}, "int32": {"-7"}, "int64": {"-7"}, "uint64": {"-7"}, "float64": {"-7", "NaN"},
		"duration": {"-7s"}}
	tested := 0
	for _, cmd := range allCommands((&program{}).rootCommand()) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Annotations[sectionAnnotation] != nil {
				return // a setting: TestValuesThatAreNotAllowed
			}
			for _, text := range bad[f.Value.Type()] {
				tested++
				err := cmd.Flags().Set(f.Name, text)
				if err != nil {
					err = explainFlag(cmd, err)
				} else if cmd.PreRunE != nil {
					err = cmd.PreRunE(cmd, argumentsFor(cmd))
				}
				require.ErrorContains(t, err, "--"+f.Name+" "+text+" is not allowed: it must be ", cmd.CommandPath())
				require.True(t, cli.IsUsage(err), cmd.CommandPath())
				require.NoError(t, f.Value.Set(f.DefValue))
				f.Changed = false
			}
		})
	}
	require.Greater(t, tested, 30)

	for says, args := range map[string][]string{
		"--limit many is not allowed: it must be a whole number":                {"sessions", "list", "--limit", "many"},
		"--timeout soon is not allowed: it must be a time such as":              {"fleet", "drain", "a", "--wait", "--timeout", "soon"},
		"--players -5 is not allowed: it must be 1 or more":                     {"simulate", "--players", "-5"},
		"--rate 10001 is not allowed: it must be more than 0 and at most 10000": {"simulate", "--rate", "10001"},
		"--valid-for 5s is not allowed: it must be 1m to 87840h":                {"enrolments", "create", "--valid-for", "5s"},
	} {
		refused := director.Run(t, env(), "", args...)
		require.ErrorContains(t, refused.Err, says)
		require.Equal(t, 2, cli.ExitCode(refused.Err), says)
	}
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
		case strings.HasPrefix(word, "DEPLOYMENT"), word == "EVACUATION", word == "ID":
			args = append(args, "01979f2e-7a36-7d44-8d7b-2d2c5f6f1a10")
		default:
			args = append(args, "some")
		}
	}
	return args
}
