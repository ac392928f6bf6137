package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// gitops is a directory that declares something of each kind.
func gitops(t *testing.T) (dir string, write func(name, text string)) {
	t.Helper()
	dir = t.TempDir()
	write = func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("profiles/duel.yaml", duelFile)
	write("pools.yaml", poolsDocument)
	write("lobby.yaml", "projects: [{id: town, name: Town}]\n")
	return dir, write
}

// Pins a repository that is applied twice with another result, and a dry run that a pipeline cannot tell from one
// without differences.
func TestApply(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL="+dbtest.New(t), "DIRECTOR_REALTIME_REGION=eu")
	dir, write := gitops(t)
	apply := func(args ...string) (map[string]string, clitest.Result) {
		t.Helper()
		r := director.Run(t, environ, "", append([]string{"apply", "-f", dir, "-o", "json"}, args...)...)
		var lines []declaredLine
		require.NoError(t, json.Unmarshal([]byte(r.Stdout), &lines), r.Stderr)
		changes := map[string]string{}
		for _, line := range lines {
			changes[line.Kind+" "+line.Name] = line.Change
		}
		return changes, r
	}
	created := map[string]string{"profile duel": "created", "app arena/v1": "created", "app arena/v2": "created", "pool eu/arena/v1": "created", "project town": "created"}
	dry, result := apply("--dry-run")
	require.Equal(t, created, dry)
	require.Equal(t, 3, cli.ExitCode(result.Err))
	require.Contains(t, result.Stderr, "dry run: nothing was applied; 5 of 5 would change")
	require.Empty(t, clitest.Read[[]profileLine](t, director, environ, "profiles", "list"))

	done, result := apply("--author", "ada", "--reason", "first")
	require.NoError(t, result.Err)
	require.Equal(t, created, done)
	require.Contains(t, result.Stderr, "warning: no running worker has the provider manual")
	again, result := apply("--dry-run", "--prune")
	require.NoError(t, result.Err, "nothing differs")
	for name := range created {
		require.Equal(t, "unchanged", again[name])
	}

	write("profiles/duel.yaml", strings.Replace(duelFile, "100", "150", 1))
	write("pools.yaml", strings.Replace(poolsDocument, "max: 10", "max: 12", 1))
	write("lobby.yaml", "projects: [{id: other}]\n")
	shown := director.Run(t, environ, "", "apply", "-f", dir, "--dry-run", "--prune")
	require.Equal(t, 3, cli.ExitCode(shown.Err))
	require.Contains(t, shown.Stdout, "--- duel@1\n+++ "+dir+"/profiles/duel.yaml\n")
	require.Contains(t, shown.Stdout, "-rules: [{near: skill, within: 100}]\n+rules: [{near: skill, within: 150}]\n")
	require.Contains(t, shown.Stdout, "--- pool eu/arena/v1\n+++ "+dir+"/pools.yaml\n")
	require.Contains(t, shown.Stdout, "-max: 10\n+max: 12\n")
	require.Contains(t, shown.Stdout, "+name: other\n+region: eu\n")
	require.Regexp(t, `pool +eu/arena/v1 +changed +\S+/pools.yaml +max`, shown.Stdout)
	require.Regexp(t, `project +town +kept +the director deletes no project`, shown.Stdout)

	require.NoError(t, os.Remove(filepath.Join(dir, "profiles", "duel.yaml")))
	write("profiles/solo.yaml", "name: solo\nteams: [{name: a, players: 1}]\n")
	write("pools.yaml", strings.Split(poolsDocument, "pools:")[0]+"pools: []\n")
	pruned, result := apply("--prune")
	require.NoError(t, result.Err)
	require.Equal(t, map[string]string{"profile solo": "created", "profile duel": "retired", "app arena/v1": "unchanged", "app arena/v2": "unchanged",
		"pool eu/arena/v1": "deleted", "project other": "created", "project town": "kept"}, pruned)
}

// Pins a mistake in one file that is found after another file was applied, or that names no place.
func TestApplyChecksAllFilesFirst(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL=" + dbtest.New(t))
	dir, write := gitops(t)
	write("z.yaml", "name: z\nteams: [{name: a, player: 1}]\n")
	refused := director.Run(t, environ, "", "apply", "-f", dir)
	require.Equal(t, 1, cli.ExitCode(refused.Err))
	require.ErrorContains(t, refused.Err, dir+"/z.yaml:2:19: teams[0].player: a team has no such key: did you mean players?")
	write("z.yaml", "name: z\nteams: [{name: a, players: 1}]\naccept: {within: 15s}\n")
	refused = director.Run(t, append(slices.Clip(environ), "DIRECTOR_OM_PENDING_FOR=20s"), "", "apply", "-f", dir)
	require.ErrorContains(t, refused.Err, dir+"/z.yaml:3:18: accept.within: ", "what the database's settings refuse has its place, too")
	require.Empty(t, clitest.Read[[]profileLine](t, director, environ, "profiles", "list"))
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "apply").Err))
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "apply", dir).Err))
	require.Equal(t, 1, cli.ExitCode(director.Run(t, environ, "", "apply", "-f", dir+"/none").Err))
	strict := append(slices.Clip(environ), "DIRECTOR_PROFILES_REQUIRE_FROM=true")
	require.ErrorContains(t, director.Run(t, strict, duelFile, "apply", "-f", "-").Err, "-:3:16: rules[0].near: near takes the attribute skill, which only the player's client vouches for")
	projects := director.Run(t, environ, "projects: [{id: town}]\n", "pools", "apply", "-f", "-")
	require.ErrorContains(t, projects.Err, "-:1:11: projects: 'director apply' applies projects")
}
