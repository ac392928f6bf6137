package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/orchestrator"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/longtest"
)

// Pins a scenario of Rivalis that does not work, or whose agents are not attached.
func TestBenchOrchestrator(t *testing.T) {
	t.Parallel()
	environ := inLab(t)
	// Each starts an installation.
	for _, scenario := range longtest.Pick([]string{"room-life", "agent-join"}, bench.Names(orchestrator.Scenarios)) {
		callers := "2"
		if scenario == "agent-join" {
			callers = "1"
		}
		args := []string{scenario, "--agents", "6", "--rooms", "2", "--callers", callers, "--replicas", "2", "--duration", "500ms", "--warm-up", "0s"}
		m := clitest.Read[measured](t, directorBench, environ, args...)
		requireGood(t, m)
		require.Equal(t, 6, m.Agents, scenario)
	}
}

func TestBenchOrchestratorWrongUse(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"20001 agents":             {"room-create", "--agents", "20001"},
		"101 rooms":                {"agent-list", "--rooms", "101"},
		"agent-join has one":       {"agent-join", "--callers", "2"},
		"need keys of the orchest": {"agent-list", "--url", "http://127.0.0.1:1"},
	} {
		r := directorBench.Run(t, env(), "", args...)
		require.Equal(t, 2, cli.ExitCode(r.Err), r.Stderr)
		require.Contains(t, r.Stderr, says)
	}
}
