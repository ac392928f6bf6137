package main

import (
	"maps"
	"slices"
	"strings"
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
		require.Zero(t, count(t, l, "SELECT count(*) FROM tickets WHERE matched_in IS NULL"), scenario)
	}
	require.ErrorContains(t, directorBench.Run(t, env(), "", quick("query")...).Err,
		"tickets cannot be queued: rpc error: code = Unauthenticated")
}

// Pins a scenario that does not work, whose game servers are not attached, whose sessions are not connected, whose
// tickets expire because nobody waits for them, and a collection window that differs from the flag.
func TestBenchFamiliesInLab(t *testing.T) {
	t.Parallel()
	all := map[string]string{"match-queue": "--tickets 200", "fetch": "--tickets 40 --window 600ms --replicas 2"}
	for _, name := range bench.Names(orchestrator.Scenarios) {
		all[name] = "--agents 6 --rooms 2 --replicas 2"
	}
	for _, name := range bench.Names(realtime.Scenarios) {
		all[name] = "--sessions 4 --replicas 2 --rate 0"
	}
	// Each starts an installation.
	for _, scenario := range longtest.Pick([]string{"fetch", "room-life", "rooms-join"}, slices.Collect(maps.Keys(all))) {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			m := clitest.Read[measured](t, directorBench, inLab(t), append(strings.Fields(all[scenario]), scenario,
				"--callers", "1", "--duration", "500ms", "--warm-up", "0s")...)
			requireGood(t, m)
			require.Equal(t, strings.Contains(all[scenario], "--agents 6"), m.Agents == 6)
			require.Equal(t, strings.Contains(all[scenario], "--sessions 4"), m.Sessions == 4)
			require.Equal(t, scenario == "rooms-join", m.Values["frames"] > 4*4, m.Values)
			require.True(t, scenario != "fetch" || m.Steps[0].Latency.P50 >= 600)
		})
	}
}
