package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/realtime"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/longtest"
)

// Pins a scenario of the realtime lobby that does not work, whose sessions are not connected, or whose baselines are
// not measured.
func TestBenchRooms(t *testing.T) {
	t.Parallel()
	environ := inLab(t)
	// TestBenchProve measures others. Each starts an installation.
	for _, scenario := range longtest.Pick([]string{"rooms-join"}, bench.Names(realtime.Scenarios)) {
		args := []string{scenario, "--sessions", "4", "--callers", "1", "--replicas", "2", "--duration", "500ms", "--warm-up", "0s", "--rate", "0"}
		m := clitest.Read[measured](t, directorBench, environ, args...)
		requireGood(t, m)
		require.Equal(t, 4, m.Sessions, scenario)
		require.Equal(t, scenario == "rooms-join", m.Values["frames"] > 4*4, m.Values)
	}
	runs := clitest.Read[[]measured](t, directorBench, environ, "rooms-hot", "--callers", "2", "--duration", "500ms", "--warm-up", "0s", "--baselines")
	var names []string
	for _, m := range runs {
		names = append(names, m.Subject+": "+m.Scenario)
		requireGood(t, m)
	}
	require.Equal(t, []string{": rooms-hot", "echo: rooms-idle", "notice: notice", "commit: commit"}, names)
}

func TestBenchRoomsWrongUse(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"20001 sessions":            {"rooms-idle", "--sessions", "20001"},
		"rooms-join has one caller": {"rooms-join", "--rate", "5"},
	} {
		r := directorBench.Run(t, env(), "", args...)
		require.Equal(t, 2, cli.ExitCode(r.Err), r.Stderr)
		require.Contains(t, r.Stderr, says)
	}
}
