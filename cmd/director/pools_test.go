package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
)

const arenaPools = `apps:
  - &v1
    app: arena
    version: v1
`

const poolsDocument = `apps:
  - {app: arena, version: v1, provider: manual, launch: arena, ports: [{name: game, internal: 7777, protocol: udp}], modes: [duel], capacity: 8, max_players: 2,
     netcode: {dialect: lightyear-be, protocol_id: 80085}, env: {MOTD: "it's on"}}
  - {app: arena, version: v2, provider: process, launch: arena, ports: [{name: game, protocol: udp}], modes: [duel], capacity: 8, max_players: 2}
pools:
  - {region: eu, app: arena, version: v1, max: 10, buffer: 20%}
`

func TestPools(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL=" + dbtest.New(t))
	file := writeFile(t, "pools.yaml", poolsDocument)
	apply := func(args ...string) []appliedLine {
		return clitest.Read[[]appliedLine](t, director, environ, append([]string{"pools", "apply", "-f", file}, args...)...)
	}
	require.True(t, json.Valid([]byte(director.OK(t, environ, "pools", "schema"))))
	require.Equal(t, "created", apply("--dry-run")[2].Change)
	require.Empty(t, clitest.Read[[]opsview.Pool](t, director, environ, "pools", "list"))
	require.Equal(t, appliedLine{"pool", "eu", "arena", "v1", "created", []string{}}, apply("--author", "ci")[2])
	require.Equal(t, "unchanged", apply()[2].Change)

	wrong := director.Run(t, environ, strings.Replace(poolsDocument, "max: 10", "max: -1", 1), "pools", "apply", "-f", "-").Err
	require.EqualError(t, wrong, "-:6:48: pools[0].max: must be 0 to 100000, not -1")
	taken := director.Run(t, environ, "pools: [{region: eu, app: arena, version: v2, max: 1}]", "pools", "apply", "-f", "-").Err
	require.ErrorContains(t, taken, "-:1:9: pools[0].modes: mode \"duel\" of region eu belongs to pool arena/v1")
	require.Error(t, director.Run(t, environ, arenaPools, "pools", "apply", "-f", "-").Err)
	dir := filepath.Dir(file)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "more.yaml"), []byte(arenaPools), 0o600))
	require.ErrorContains(t, director.Run(t, environ, "", "pools", "apply", "-f", dir).Err, "has 2 files: name one of them")

	scaled := clitest.Read[[]poolNumbers](t, director, environ, "pools", "scale", "eu/arena/v1", "--max", "40", "--buffer", "2", "--reason", "launch day")
	require.Equal(t, []poolNumbers{{"eu", "arena", "v1", 0, 40, "2", nil}}, scaled)
	require.ErrorContains(t, director.Run(t, environ, "", "pools", "scale", "eu/arena/v1", "--min", "41").Err, "min: must be 0 to 40, not 41")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "pools", "scale", "eu/arena/v1").Err))
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "pools", "scale", "eu/arena").Err))
	require.ErrorContains(t, director.Run(t, environ, "", "pools", "scale", "us/arena/v1", "--max", "1").Err, `there is no pool arena/v1 in region "us"`)

	require.Contains(t, director.OK(t, environ, "pools", "pause", "eu/arena/v1", "--reason", "outage"), "an operator resumes it")
	require.Contains(t, director.OK(t, environ, "pools", "show", "eu/arena/v1"), "paused until an operator resumes it: outage")
	require.Nil(t, clitest.Read[[]poolNumbers](t, director, environ, "pools", "resume", "eu/arena/v1")[0].PausedUntil)
	require.Equal(t, []rolledLine{{"eu", "arena", "v2", []string{"duel"}, 0}}, clitest.Read[[]rolledLine](t, director, environ, "pools", "roll", "eu/arena/v1", "v2"))
	list := clitest.Read[[]opsview.Pool](t, director, environ, "pools", "list", "--region", "eu")
	require.Len(t, list, 2)
	require.Equal(t, []string{"duel"}, list[1].Modes)
	require.Equal(t, list[1], clitest.Read[opsview.Pool](t, director, environ, "pools", "show", "eu/arena/v2"))

	require.ErrorIs(t, director.Run(t, environ, "no\n", "pools", "delete", "eu/arena/v2").Err, errNotConfirmed)
	require.NoError(t, director.Run(t, environ, "yes\n", "pools", "delete", "eu/arena/v2").Err)
	require.Len(t, clitest.Read[[]opsview.Pool](t, director, environ, "pools", "list"), 1)
}

// Pins a pool whose provider no worker has, and that looks healthy.
func TestPoolsOfProvidersThatNoWorkerHas(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	applied := director.Run(t, environ, poolsDocument, "pools", "apply", "-f", "-")
	require.NoError(t, applied.Err)
	require.Contains(t, applied.Stderr, "warning: no running worker has the provider manual: set DIRECTOR_PROVIDERS")
	require.Contains(t, applied.Stderr, "warning: no running worker has the provider process")
	require.Contains(t, director.OK(t, environ, "pools", "show", "eu/arena/v1"), "active; no running worker has the provider manual")
	_, err := s.Pool().Exec(t.Context(), "INSERT INTO process_reports (process, providers) VALUES ('director work a/1', '{manual}')")
	require.NoError(t, err)
	require.NotContains(t, director.OK(t, environ, "pools", "show", "eu/arena/v1"), "no running worker")
	require.Equal(t, int64(1), clitest.Read[[]opsview.Pool](t, director, environ, "pools", "list")[0].Workers)
	require.NotContains(t, director.Run(t, environ, poolsDocument, "pools", "apply", "-f", "-").Stderr, "manual")
}

func TestPoolsThatPlanAhead(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	planned := strings.Replace(poolsDocument, "max: 10, buffer: 20%", `max: 10, min: 1, schedule: [{at: "00:00 Asia/Tokyo", until: "00:00", min: 7}]`, 1)
	require.NoError(t, director.Run(t, environ, planned, "pools", "apply", "-f", "-").Err)
	wrong := director.Run(t, environ, strings.Replace(planned, "Asia/Tokyo", "Asia/Tokio", 1), "pools", "apply", "-f", "-").Err
	require.EqualError(t, wrong, `-:6:76: pools[0].schedule[0].at: "Asia/Tokio" must be a time zone that Postgres knows, such as Europe/Berlin: did you mean "Asia/Tokyo"?`)
	listed := clitest.Read[[]opsview.Pool](t, director, environ, "pools", "list")[0]
	require.Equal(t, []any{int32(1), int32(7), "daily 00:00 to 00:00 Asia/Tokyo", false}, []any{listed.Min, listed.MinNow, listed.MinCause, listed.Forecast})
	shown := director.OK(t, environ, "pools", "show", "eu/arena/v1")
	require.Contains(t, shown, "min        7, by daily 00:00 to 00:00 Asia/Tokyo\n")
	require.Contains(t, shown, "forecast   off\n")
	require.Contains(t, shown, "schedule   7 servers, daily 00:00 to 00:00 Asia/Tokyo: holds, ")

	require.Empty(t, director.Run(t, environ, "", "pools", "scale", "eu/arena/v1", "--max", "7").Stderr)
	require.Contains(t, director.Run(t, environ, "", "pools", "scale", "eu/arena/v1", "--max", "6").Stderr,
		"The schedule daily 00:00 to 00:00 Asia/Tokyo wants 7 servers: the pool has at most 6 then.\n")

	require.Contains(t, director.OK(t, environ, "pools", "forecast", "eu/arena/v1"), "no hour is known yet")
	_, err := s.Pool().Exec(t.Context(), `INSERT INTO pool_hours SELECT 'eu', 'arena', 'v1', h, 3 FROM generate_series(date_trunc('hour', now(), 'UTC') - interval '20 days', now(), '1 hour') h`)
	require.NoError(t, err)
	require.Contains(t, director.OK(t, environ, "pools", "forecast", "eu/arena/v1"), "wrong by 0.0 servers of 3.0 in the mean; too low in 0 hours, by 0 servers at worst")
	three := int32(3)
	answer := clitest.Read[forecastAnswer](t, director, environ, "pools", "forecast", "eu/arena/v1", "--hours", "168")
	require.Len(t, answer.Hours, 168)
	require.Equal(t, []any{&three, &three, int32(2)}, []any{answer.Hours[0].Used, answer.Hours[0].Expected, answer.Hours[0].Weeks}, "the present hour is the first")
	require.Nil(t, answer.Hours[1].Used)
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "pools", "forecast", "eu/arena/v1", "--hours", "169").Err))
	require.ErrorContains(t, director.Run(t, environ, "", "pools", "forecast", "us/arena/v1").Err, "there is no pool us/arena/v1")
}

func TestPoolLimits(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL=" + dbtest.New(t))
	require.NoError(t, director.Run(t, environ, poolsDocument, "pools", "apply", "-f", "-").Err)
	limit := func(args ...string) opsview.PoolLimit {
		return clitest.Read[[]opsview.PoolLimit](t, director, environ, append([]string{"pools", "limit"}, args...)...)[0]
	}
	one, nine := int32(1), int32(9)
	require.Equal(t, opsview.PoolLimit{}, limit())
	require.Equal(t, opsview.PoolLimit{MaxServers: &one}, limit("--servers", "1"))
	require.Equal(t, opsview.PoolLimit{MaxServers: &one, MaxStarts: &nine}, limit("--starts-per-hour", "9"))
	director.OK(t, environ, "deployments", "start", "eu/arena/v2")
	require.Contains(t, director.Run(t, environ, "", "deployments", "start", "eu/arena/v2").Stderr, "the limits over all pools let no server start")
	require.Equal(t, opsview.PoolLimit{Servers: 1, MaxServers: &one, Starts: 1}, limit("--starts-per-hour", "none"))
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "pools", "limit", "--servers", "-1").Err))
}

func TestDeploymentLog(t *testing.T) {
	t.Parallel()
	url, dir := dbtest.New(t), t.TempDir()
	s, id, tag := storetest.OnDatabase(t, url), uuid.New(), string(provider.NewTag())
	environ := env("DATABASE_URL="+url, "DIRECTOR_PROVIDERS=process", "DIRECTOR_PROCESS_COMMANDS=arena=/bin/true", "DIRECTOR_PROCESS_DIR="+dir)
	require.NoError(t, director.Run(t, environ, poolsDocument, "pools", "apply", "-f", "-").Err)
	_, err := s.Pool().Exec(t.Context(), `INSERT INTO deployments (region, id, app, version, provider, tag, intent_at, ref) VALUES ('eu', $1, 'arena', 'v2', 'process', $2, now(), $2)`, id, tag)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, tag), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, tag, "state.json"), []byte(`{"tag": "`+tag+`", "started": "2100-01-01T00:00:00Z"}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, tag, "log"), []byte("starts\nfails\n"), 0o600))
	require.Equal(t, "starts\nfails\n", director.OK(t, environ, "deployments", "log", id.String()))
	require.Equal(t, []string{"fails"}, clitest.Read[[]string](t, director, environ, "deployments", "log", id.String(), "--lines", "1"))

	other := env("DATABASE_URL="+url, "DIRECTOR_PROVIDERS=manual", "DIRECTOR_PUBLIC_URL=https://director.example")
	require.Contains(t, director.Run(t, other, "", "deployments", "log", id.String()).Stderr, "DIRECTOR_PROVIDERS of a worker that has it")
	_, err = s.Pool().Exec(t.Context(), "UPDATE deployments SET provider = 'edgegap'")
	require.NoError(t, err)
	require.Contains(t, director.Run(t, environ, "", "deployments", "log", id.String()).Stderr, "cannot read logs of edgegap")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "deployments", "log", id.String(), "--lines", "0").Err))

	// Its server started at the fallback of its app version; it has ended.
	_, err = s.Pool().Exec(t.Context(), "UPDATE deployments SET provider = 'process'")
	require.NoError(t, err)
	_, err = s.Pool().Exec(t.Context(), "UPDATE app_versions SET provider = 'edgegap' WHERE version = 'v2'")
	require.NoError(t, err)
	_, err = query.New(s.Pool()).MoveToHistory(t.Context(), query.MoveToHistoryParams{Region: "eu", ID: id, Reason: "surplus"})
	require.NoError(t, err)
	require.Equal(t, "starts\nfails\n", director.OK(t, environ, "deployments", "log", id.String()))
}

func TestDeployments(t *testing.T) {
	t.Parallel()
	database := "DATABASE_URL=" + dbtest.New(t)
	environ := append(env(database), "DIRECTOR_KEY_ENCRYPTION_KEY="+base64.StdEncoding.EncodeToString(make([]byte, 32)), "DIRECTOR_PUBLIC_URL=https://director.example/")
	require.NoError(t, director.Run(t, environ, poolsDocument, "pools", "apply", "-f", "-").Err)

	started := clitest.Read[[]startedLine](t, director, environ, "deployments", "start", "eu/arena/v2", "--address", "192.0.2.7")[0]
	require.Equal(t, "process", started.Provider)
	require.ErrorContains(t, director.Run(t, environ, "", "deployments", "start", "eu/arena/v3").Err, `there is no version "v3" of an app "arena"`)
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "deployments", "start", "eu/arena/v2", "--address", "here").Err))

	ran := director.Run(t, environ, "", "deployments", "env", "eu/arena/v1")
	require.NoError(t, ran.Err)
	require.Contains(t, ran.Stdout, "DIRECTOR_URL=https://director.example\n")
	require.Regexp(t, `(?m)^FLEET_TOKEN=ld1\.eu\.`, ran.Stdout)
	require.Regexp(t, `(?m)^LATTICE_NETCODE_KEY=[0-9a-f]{64}$`, ran.Stdout)
	require.Contains(t, ran.Stdout, `MOTD='it'\''s on'`)
	require.Contains(t, ran.Stderr, "must register within 1m")
	require.NotContains(t, ran.Stderr, regexp.MustCompile(`ld1\.\S+`).FindString(ran.Stdout))
	require.ErrorContains(t, director.Run(t, environ, "", "deployments", "env", "eu/arena/v2").Err, "is process")
	require.ErrorContains(t, director.Run(t, env(database), "", "deployments", "start", "eu/arena/v1").Err, "KEY_ENCRYPTION_KEY")

	list := clitest.Read[[]opsview.Deployment](t, director, environ, "deployments", "list", "--region", "eu", "--app", "arena", "--phase", "wanted")
	require.Len(t, list, 2)
	require.Contains(t, director.OK(t, environ, "deployments", "show", started.Deployment), "eu/arena/v2 by process, started by an operator")
	require.True(t, clitest.Read[[]changeLine](t, director, environ, "deployments", "stop", started.Deployment, "--reason", "stuck")[0].Changed)
	shown := clitest.Read[deploymentDetails](t, director, environ, "deployments", "show", started.Deployment)
	require.Equal(t, "stopped", shown.Deployment.Desired)
	require.Equal(t, []string{"deployment.wanted", "deployment.stopped"}, []string{shown.Events[0].Kind, shown.Events[1].Kind})
	require.Contains(t, string(shown.Events[1].Detail), "stuck")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "deployments", "stop", "x").Err))
	require.ErrorContains(t, director.Run(t, environ, "", "deployments", "show", "00000000-0000-0000-0000-000000000001").Err, "there is no deployment")
}

// Pins a limit that comes back because another operator sets the other limit at the same moment.
func TestLimitsOfPoolsAreSetSideBySide(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL=" + dbtest.New(t))
	for i := range 10 {
		var both sync.WaitGroup
		for _, flag := range []string{"--servers", "--starts-per-hour"} {
			both.Go(func() {
				if r := director.Run(t, environ, "", "pools", "limit", flag, strconv.Itoa(i)); r.Err != nil {
					t.Error(r.Err)
				}
			})
		}
		both.Wait()
		limits := clitest.Read[[]opsview.PoolLimit](t, director, environ, "pools", "limit")[0]
		require.Equal(t, []int32{int32(i), int32(i)}, []int32{*limits.MaxServers, *limits.MaxStarts})
	}
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "pools", "limit", "--servers", "-1").Err))
}
