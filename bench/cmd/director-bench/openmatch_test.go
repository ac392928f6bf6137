package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/openmatch"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
)

// Pins an Open Match scenario that does not work, leaves tickets waiting, or does not say why calls fail.
func TestBenchOpenMatchRunning(t *testing.T) {
	t.Parallel()
	const token = "shown-by-programs-of-open-match"
	l, _ := outside(t, "DIRECTOR_OM_TOKENS="+token, "DIRECTOR_OM_REGISTRATION=20ms")
	addr := l.Replicas()[0].GRPC

	quick := func(scenario string) []string {
		return []string{
			scenario, "--url", addr, "--duration", "300ms", "--warm-up", "0s",
			"--callers", "2", "--connections", "2", "--tickets", "40", "--watchers", "10", "--rate", "0",
		}
	}
	for _, scenario := range bench.Names(openmatch.Scenarios) {
		m := clitest.Read[measured](t, directorBench, env("DATABASE_URL="+l.URL(), "DIRECTOR_OM_TOKENS="+token), quick(scenario)...)
		requireGood(t, m)
		if scenario == "tickets" {
			require.Positive(t, m.Costs.WALBytes)
		}
		require.Equal(t, 2, m.Connections)
		require.Equal(t, slices.Contains([]string{"fetch", "query"}, scenario), m.Tickets == 40)
		require.Equal(t, scenario == "watch", m.Watchers == 10)
	}
	require.ErrorContains(t, directorBench.Run(t, env(), "", quick("query")...).Err, "tickets cannot be queued: Unauthenticated")
}

// Pins baselines that are not called, or are called with another load, and a collection window that differs from the
// flag.
func TestBenchOpenMatchInLab(t *testing.T) {
	t.Parallel()
	environ := inLab(t)
	runs := clitest.Read[[]measured](t, directorBench, environ, "fetch", "--tickets", "40", "--window", "600ms", "--replicas", "2", "--baselines",
		"--duration", "500ms", "--warm-up", "0s")
	var names []string
	for _, m := range runs {
		names = append(names, m.Subject+": "+m.Scenario)
		requireGood(t, m)
	}
	require.Equal(t, []string{": fetch", "echo: tickets", "commit: commit"}, names)
	require.GreaterOrEqual(t, runs[0].Steps[0].Latency.P50, 600.0)
	table := directorBench.OK(t, environ, "watch", "--watchers", "20", "--callers", "2", "--duration", "200ms", "--warm-up", "0s")
	for _, word := range []string{"A CALL COSTS", "ticket 1.", "8 connections, 20 watchers"} {
		require.Contains(t, table, word)
	}
}

func TestBenchOpenMatchWrongUse(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"257 connections": {"tickets", "--connections", "257"},
		"-1 tickets":      {"query", "--tickets", "-1"},
		"-1 watchers":     {"watch", "--watchers", "-1"},
		"0 callers":       {"fetch", "--callers", "0"},
	} {
		r := directorBench.Run(t, env(), "", args...)
		require.Equal(t, 2, cli.ExitCode(r.Err), r.Stderr)
		require.Contains(t, r.Stderr, says)
	}
}
