package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
)

// Pins baselines that are not measured, and tickets that expire because nobody waits for them.
func TestBenchMatchInLab(t *testing.T) {
	t.Parallel()
	environ := inLab(t)
	runs := clitest.Read[[]measured](t, directorBench, environ, "match-queue", "--tickets", "200", "--duration", "500ms", "--warm-up", "0s", "--baselines")
	var names []string
	for _, m := range runs {
		names = append(names, m.Subject+": "+m.Scenario)
		requireGood(t, m)
	}
	require.Equal(t, []string{": match-queue", "no-op: noop", "notice: notice", "commit: commit"}, names)
	table := directorBench.OK(t, environ, "match-steady", "--tickets", "20", "--rate", "100", "--callers", "8", "--duration", "500ms", "--warm-up", "0s")
	for _, word := range []string{"A CALL COSTS", "player ticket ", "16 game servers, 20 tickets"} {
		require.Contains(t, table, word)
	}
}

func TestBenchMatchWrongUse(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"-1 tickets":                {"match-idle", "--tickets", "-1"},
		"150 tickets: they must be": {"match-servers", "--tickets", "150"},
	} {
		r := directorBench.Run(t, env(), "", args...)
		require.Equal(t, 2, cli.ExitCode(r.Err), r.Stderr)
		require.Contains(t, r.Stderr, says)
	}
}
