package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/openmatch"
	"github.com/lattice-director/director/bench/orchestrator"
	"github.com/lattice-director/director/bench/realtime"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/longtest"
)

// Pins an open loop with a wrong rate, and a table without the costs of calls.
func TestBenchMatchInLab(t *testing.T) {
	t.Parallel()
	table := directorBench.OK(t, inLab(t), "match-steady", "--tickets", "20", "--rate", "100", "--callers", "8",
		"--regions", "3", "--duration", "500ms", "--warm-up", "0s")
	for _, word := range []string{"PER SECOND", "A CALL COSTS", "DIRECTOR CPU", "WAL", "player ticket ",
		"100 turns a second were requested, ", "1 replica, 16 game servers, 20 tickets"} {
		require.Contains(t, table, word)
	}
	require.NotContains(t, table, "failed:")
}

// Pins tickets that expire because nobody waits for them.
func TestBenchMatchQueueInLab(t *testing.T) {
	longtest.Only(t, "TestScenarios of bench")
	t.Parallel()
	requireGood(t, clitest.Read[measured](t, directorBench, inLab(t), "match-queue", "--tickets", "200", "--duration",
		"500ms", "--warm-up", "0s"))
}

// Pins an Open Match scenario that does not work, leaves tickets waiting, or does not say why calls fail.
func TestBenchOpenMatchRunning(t *testing.T) {
	t.Parallel()
	const token = "shown-by-programs-of-open-match"
	l, _ := outside(t, "DIRECTOR_OM_TOKENS="+token, "DIRECTOR_OM_REGISTRATION=20ms")
	addr := l.Replicas[0].At(lab.GRPC)

	quick := func(scenario string) []string {
		return []string{
			scenario, "--url", addr, "--duration", "300ms", "--warm-up", "0s",
			"--callers", "2", "--connections", "2", "--tickets", "40", "--watchers", "10", "--rate", "0",
		}
	}
	for _, scenario := range bench.Names(openmatch.Scenarios) {
		m := clitest.Read[measured](t, directorBench, env("DATABASE_URL="+l.URL(), "DIRECTOR_OM_TOKENS="+token),
			quick(scenario)...)
		requireGood(t, m)
		if scenario == "tickets" {
			require.Positive(t, m.Costs.WALBytes)
		}
		require.Equal(t, 2, m.Connections)
		require.Equal(t, slices.Contains([]string{"fetch", "query"}, scenario), m.Tickets == 40)
		require.Equal(t, scenario == "watch", m.Watchers == 10)
	}
	require.ErrorContains(t, directorBench.Run(t, env(), "", quick("query")...).Err,
		"tickets cannot be queued: rpc error: code = Unauthenticated")
}

// Pins a collection window that differs from the flag.
func TestBenchOpenMatchInLab(t *testing.T) {
	t.Parallel()
	m := clitest.Read[measured](t, directorBench, inLab(t), "fetch", "--tickets", "40", "--window", "600ms",
		"--replicas", "2", "--duration", "500ms", "--warm-up", "0s")
	requireGood(t, m)
	require.GreaterOrEqual(t, m.Steps[0].Latency.P50, 600.0)
}

// Pins a scenario of Rivalis that does not work, or whose agents are not attached.
func TestBenchOrchestrator(t *testing.T) {
	t.Parallel()
	environ := inLab(t)
	// Each starts an installation.
	for _, scenario := range longtest.Pick([]string{"room-life"}, bench.Names(orchestrator.Scenarios)) {
		callers := "2"
		if scenario == "agent-join" {
			callers = "1"
		}
		args := []string{scenario, "--agents", "6", "--rooms", "2", "--callers", callers, "--replicas", "2",
			"--duration", "500ms", "--warm-up", "0s"}
		m := clitest.Read[measured](t, directorBench, environ, args...)
		requireGood(t, m)
		require.Equal(t, 6, m.Agents, scenario)
	}
}

// Pins a scenario of the realtime lobby that does not work, or whose sessions are not connected.
func TestBenchRooms(t *testing.T) {
	t.Parallel()
	environ := inLab(t)
	// Each starts an installation.
	for _, scenario := range longtest.Pick([]string{"rooms-join"}, bench.Names(realtime.Scenarios)) {
		args := []string{scenario, "--sessions", "4", "--callers", "1", "--replicas", "2", "--duration", "500ms",
			"--warm-up", "0s", "--rate", "0"}
		m := clitest.Read[measured](t, directorBench, environ, args...)
		requireGood(t, m)
		require.Equal(t, 4, m.Sessions, scenario)
		require.Equal(t, scenario == "rooms-join", m.Values["frames"] > 4*4, m.Values)
	}
}
