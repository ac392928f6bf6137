package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench/proof"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/longtest"
)

// Pins an experiment that does not run, has no findings, or measures failing calls.
func TestBenchProve(t *testing.T) { //nolint:tparallel // One after another: each has several processes to itself, and little time.
	longtest.Only(t, "TestFindingsPrinted") // each takes a quarter of a minute
	t.Parallel()
	for _, e := range proof.Experiments() {
		t.Run(e.Name, func(t *testing.T) {
			environ := inLab(t)
			found := clitest.Read[struct {
				Quick       bool
				Rounds      int
				Machine     machine
				Experiments []proof.Section
			}](t, directorBench, environ, "prove", e.Name, "--quick", "--rounds", "1")
			require.True(t, found.Quick)
			require.Equal(t, 1, found.Rounds)
			require.NotEmpty(t, found.Machine.Postgres)
			require.Len(t, found.Experiments, 1)
			p := found.Experiments[0]
			require.Equal(t, []string{e.Name, e.Title}, []string{p.Name, p.Title})
			require.NotEmpty(t, p.Findings)
			require.NotEmpty(t, p.Runs)
			for _, r := range p.Runs {
				require.NotEmpty(t, r.Name)
				require.Positive(t, r.Calls, r.Name)
			}
		})
	}
}

// Pins a missed target that fails the command.
func TestFindingsPrinted(t *testing.T) {
	t.Parallel()
	environ := inLab(t)
	plots := filepath.Join(t.TempDir(), "plots")
	r := directorBench.Run(t, environ, "", "prove", "packing", "--quick", "--rounds", "1", "--plots", plots)
	require.NoError(t, r.Err, r.Stderr)
	require.FileExists(t, filepath.Join(plots, "packing-latency.svg"))
	for _, word := range []string{"EXPERIMENT", "“no capacity” while there were free seats", "≤ 0.0 %",
		"A CALL COSTS", "naive matchmake", "mean nothing", "Postgres"} {
		require.Contains(t, r.Stdout, word)
	}
	require.Contains(t, r.Stderr, "packing")
	require.Contains(t, r.Stderr, "round 1 of 1: naive matchmake")
}

func TestBenchProveWrongUse(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		`unknown experiment "dance": there are reach, `: {"prove", "dance"},
		"0 rounds":                      {"prove", "--rounds", "0"},
		`--output "xml" is not allowed`: {"prove", "--output", "xml"},
	} {
		r := directorBench.Run(t, env(), "", args...)
		require.Equal(t, 2, cli.ExitCode(r.Err), r.Stderr)
		require.Contains(t, r.Stderr, says)
	}
	suggested := directorBench.OK(t, env(), "__complete", "prove", "reach", "")
	require.Contains(t, suggested, "packing\t")
	require.Contains(t, directorBench.OK(t, env(), "prove", "--help"), "packing")
}
