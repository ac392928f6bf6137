package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
)

// Pins a benchmark that measures refusals, or leaves a Postgres or its data behind.
func TestBenchEmbedded(t *testing.T) {
	t.Parallel()
	for _, scenario := range bench.Scenarios() {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			base := scratch(t)
			require.NoError(t, os.Mkdir(base, 0o711))
			m := read[measured](t, env("TMPDIR="+base), "bench", scenario, "--callers", "8", "--instances", "2", "--duration", "1s", "--warm-up", "100ms")
			require.Equal(t, scenario, m.Scenario)
			require.Positive(t, m.Calls)
			require.Zero(t, m.Failed, m.Errors)
			require.Positive(t, m.PerSecond)
			require.Positive(t, m.Latency.P50)
			require.LessOrEqual(t, m.Latency.P999, m.Latency.Max)
			require.NotEmpty(t, m.Machine.Postgres)
			require.Positive(t, m.Machine.CPUs)
			left, err := os.ReadDir(base)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// Pins a benchmark of a running director that cannot show who it is, and a table without what was measured.
func TestBenchRunning(t *testing.T) {
	t.Parallel()
	data := scratch(t)
	r := start(t, env("DIRECTOR_FLEET_TOKEN="+testFleetToken), "dev", "--data", data, "--addr", "127.0.0.1:0")
	url := r.api() + "/"
	r.stdout.wait(t, "Ctrl-C ends all of it")
	require.Eventually(t, func() bool { status, _ := get(t, url+"readyz"); return status == 200 }, deadline, tick)

	args := []string{"bench", "session-life", "--url", url, "--data", data, "--callers", "2", "--duration", "200ms", "--warm-up", "0s"}
	table := ok(t, env("DIRECTOR_FLEET_TOKEN="+testFleetToken), args...)
	for _, word := range []string{"PER SECOND", "matchmake", "resolve", "joined", "left", "session-life", "2 callers, 16 game servers"} {
		require.Contains(t, table, word)
	}
	require.NotContains(t, table, "failed:")
	require.ErrorContains(t, run(t, env(), "", args...).err, "cannot register at "+r.api()+": 401")
	require.NoError(t, r.stop())
}

func TestBenchWrongUse(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"accepts 1 arg(s)":                {"bench"},
		`unknown scenario "dance"`:        {"bench", "dance"},
		"--embedded and --url exclude":    {"bench", "matchmake", "--embedded", "--url", "http://127.0.0.1:1"},
		"--output \"xml\" is not allowed": {"bench", "matchmake", "--output", "xml"},
	} {
		r := run(t, env(), "", args...)
		require.Equal(t, 2, exitCode(r.err), r.stderr)
		require.Contains(t, r.stderr, says)
	}
	require.ErrorContains(t, run(t, env(), "", "bench", "matchmake", "--url", "http://127.0.0.1:1", "--issuer-key", "/nonexistent").err, "--issuer-key")
	require.Contains(t, ok(t, env(), "__complete", "bench", ""), "matchmake\nresolve\nsession-life")
}
