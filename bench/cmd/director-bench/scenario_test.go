package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/longtest"
)

func requireGood(t *testing.T, m measured) {
	t.Helper()
	require.Positive(t, m.Calls)
	require.Zero(t, m.Failed, m.Errors)
	require.Positive(t, m.PerSecond)
	require.Positive(t, m.Latency.P50)
	require.LessOrEqual(t, m.Latency.P999, m.Latency.Max)
	require.NotEmpty(t, m.Machine.Postgres)
	require.Positive(t, m.Machine.CPUs)
}

// Pins a benchmark that measures refusals, mistakes one process for another, or leaves a Postgres or its data behind.
func TestBenchInLab(t *testing.T) {
	t.Parallel()
	environ := inLab(t)
	runs := clitest.Read[[]measured](t, directorBench, environ, "session-life", "--callers", "2,8", "--replicas", "2",
		"--instances", "2", "--duration", "1s", // long enough for a placement on a busy machine
		"--warm-up", "100ms")
	for i, m := range runs {
		requireGood(t, m)
		require.Equal(t, []int{2, 8}[i], m.Callers)
		require.Equal(t, 2, m.Replicas)
		require.Nil(t, m.Open)
		require.Positive(t, m.Costs.GeneratorMicros)
		require.Equal(t, lab.CanMeasureCPU(), m.Costs.ServerMicros > 0)
		require.Greater(t, m.Costs.WALBytes, 500.0)
		require.Less(t, m.Costs.Transactions, 20.0)
		require.GreaterOrEqual(t, m.Costs.Groups["placement"].MeanCalls, 1.0)
	}
}

// Pins a benchmark of a running director without credentials, and one that does not measure WAL.
func TestBenchRunning(t *testing.T) {
	t.Parallel()
	l, i := outside(t)
	api := l.Replicas[0].At(lab.Web)
	key := filepath.Join(t.TempDir(), "issuer.jwk")
	require.NoError(t, os.WriteFile(key, i.JWK(), 0o600))

	quick := func(scenario string) []string {
		return []string{scenario, "--url", api + "/", "--issuer-key", key, "--callers", "2", "--duration", "200ms",
			"--warm-up", "0s"}
	}
	mine := env("DIRECTOR_FLEET_TOKEN="+l.FleetToken, "DIRECTOR_OPS_TOKENS="+l.OpsToken, "DATABASE_URL="+l.URL())
	// match-idle lasts a second, and match-queue and match-steady run in a laboratory: TestBenchMatchInLab.
	few := []string{"resolve", "heartbeat", "register", "session-life", "login-queue", "match-life"}
	all := append(bench.Names(bench.Scenarios), bench.Names(bench.LoopScenarios)...)
	for _, scenario := range longtest.Pick(few, all) {
		args := quick(scenario)
		if bench.Find(bench.LoopScenarios, scenario).Usual.Tickets > 0 {
			args = append(args, "--tickets", "100")
		}
		m := clitest.Read[measured](t, directorBench, mine, args...)
		require.Positive(t, m.Calls)
		requireGood(t, m)
		require.True(t, m.Costs.WALBytes > 0 || scenario == "login-queue",
			"%s: only without a valve nothing is written", scenario)
		require.Zero(t, m.Costs.ServerMicros)
	}
	table := directorBench.OK(t, env("DIRECTOR_FLEET_TOKEN="+l.FleetToken), quick("session-life")...)
	for _, word := range []string{"matchmake", "resolve", "joined", "left", "session-life", "16 game servers"} {
		require.Contains(t, table, word)
	}
	require.NotContains(t, table, "COSTS")
	require.ErrorContains(t, directorBench.Run(t, env(), "", quick("matchmake")...).Err,
		"cannot register at "+api+": 401")
	require.ErrorContains(t, directorBench.Run(t, env("DIRECTOR_FLEET_TOKEN="+l.FleetToken), "",
		quick("match-life")...).Err, "cannot be applied at "+api+": 401")
}

// Pins a token that is cut at an "=" of its own: only those of operators have names, and those of Open Match services.
func TestBenchSecrets(t *testing.T) {
	t.Parallel()
	p := &program{environ: env("DIRECTOR_FLEET_TOKEN=fleet=0123456789abcdef==,other",
		"DIRECTOR_OPS_TOKENS=anna:operator=0123456789abcdef==,bob=0123456789abcdef",
		"DIRECTOR_OM_TOKENS=query=0123456789abcdef==")}
	require.Equal(t, "fleet=0123456789abcdef==", p.firstSecret("DIRECTOR_FLEET_TOKEN"))
	require.Equal(t, "0123456789abcdef==", p.operatorToken())
	require.Equal(t, "0123456789abcdef==", p.openMatchToken())
	p.environ = env("DIRECTOR_OPS_TOKENS=0123456789ABCDEF==", "DIRECTOR_OM_TOKENS=0123456789abcdef==")
	require.Equal(t, "0123456789ABCDEF==", p.operatorToken())
	require.Equal(t, "0123456789abcdef==", p.openMatchToken())
}

func TestBenchWrongUse(t *testing.T) {
	t.Parallel()
	for says, args := range map[string][]string{
		"an argument is missing":            {},
		`unknown scenario "dance"`:          {"dance"},
		"is called over gRPC":               {"fetch", "--url", "http://127.0.0.1:1"},
		"is called over HTTP":               {"matchmake", "--url", "127.0.0.1:1"},
		"9 replicas":                        {"matchmake", "--replicas", "9"},
		"0 callers":                         {"matchmake", "--callers", "1,0"},
		"a hot mode needs others":           {"matchmake", "--hot-share", "0.5"},
		"--output \"xml\" is not allowed":   {"matchmake", "--output", "xml"},
		"-1 tickets: there cannot be fewer": {"match-idle", "--tickets", "-1"},
		"--replicas is for a director":      {"matchmake", "--replicas", "2", "--url", "http://127.0.0.1:1"},
		"a rate of NaN":                     {"matchmake", "--rate", "NaN"},
		"a run must last":                   {"matchmake", "--duration", "0s"},
		"150 tickets: they must be":         {"match-servers", "--tickets", "150"},
		"agent-join has one caller":         {"agent-join", "--callers", "2"},
		"need keys of the orchestrator":     {"agent-list", "--url", "http://127.0.0.1:1"},
		"sessions act at once":              {"rooms-storm", "--sessions", "0"},
		"rooms-join has one caller":         {"rooms-join", "--rate", "5"},
	} {
		r := directorBench.Run(t, env(), "", args...)
		require.Equal(t, 2, cli.ExitCode(r.Err), r.Stderr)
		require.Contains(t, r.Stderr, says)
	}
	require.ErrorContains(t, directorBench.Run(t, env(), "", "matchmake", "--url", "http://127.0.0.1:1", "--issuer-key",
		"/nonexistent").Err, "--issuer-key")
	require.ErrorContains(t, directorBench.Run(t, env(), "", "matchmake", "--director", "/nonexistent").Err,
		"--director")
	require.Contains(t, directorBench.OK(t, env(), "__complete", ""),
		"matchmake\nquery\nregister\nresolve\nroom-create\nroom-life\nrooms-hot\nrooms-idle\nrooms-join\nrooms-match\nrooms-patch\nrooms-storm\nsession-life\nticket-life")
}
