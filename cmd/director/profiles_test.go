package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

const duelFile = "name: duel\nteams: [{name: a, players: 1, count: 2}]\nrules: [{near: skill, within: 100}]\n"

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// Pins a profile that an operator cannot change back, and a file that is applied although it is not valid.
func TestProfiles(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ := env("DATABASE_URL=" + url)
	duel := writeFile(t, "duel.yaml", duelFile)
	require.Empty(t, clitest.Read[[]profileLine](t, director, environ, "profiles", "list"))
	dry := director.OK(t, environ, "profiles", "apply", "-f", duel, "--dry-run")
	require.Contains(t, dry, "+name: duel")
	require.Regexp(t, `duel +1 +yes +would be live\n`, dry)
	require.ErrorContains(t, director.Run(t, environ, "", "profiles", "apply", "-f", duel, "--dry-run", "--shadow").Err,
		"a shadow runs beside a live version, and there is none", "as without --dry-run")
	require.Empty(t, clitest.Read[[]profileLine](t, director, environ, "profiles", "list"), "a dry run changes nothing")

	apply := func(args ...string) []appliedProfile {
		return clitest.Read[[]appliedProfile](t, director, environ, append([]string{"profiles", "apply", "-f", duel}, args...)...)
	}
	require.Equal(t, []appliedProfile{{"duel", 1, true, "live", true}}, apply("--dry-run"))
	require.Equal(t, []appliedProfile{{"duel", 1, true, "live", false}}, apply("--reason", "first", "--author", "ada"))
	require.Equal(t, []appliedProfile{{"duel", 1, false, "live", false}}, apply())
	wider := strings.Replace(duelFile, "100", "150", 1)
	applied := director.Run(t, environ, wider, "profiles", "apply", "-f", "-", "--expect", "1")
	require.NoError(t, applied.Err)
	require.Regexp(t, `duel +2 +yes +live\n`, applied.Stdout)
	require.Contains(t, applied.Stderr, "-:3:16: rules[0].near: warning: the attribute skill is not declared")
	require.ErrorContains(t, director.Run(t, environ, duelFile, "profiles", "apply", "-f", "-", "--expect", "1").Err, "the live version of profile \"duel\" is 2, not 1")

	list := clitest.Read[[]profileLine](t, director, environ, "profiles", "list")
	require.Len(t, list, 1)
	require.Equal(t, 2, list[0].Live)
	require.Contains(t, list[0].Author, "sql:")
	shown := director.Run(t, environ, "", "profiles", "show", "duel@1")
	require.Equal(t, duelFile, shown.Stdout, "it can be applied again")
	require.Contains(t, shown.Stderr, "duel@1, kept, applied at ")
	require.Contains(t, shown.Stderr, "by ada: first")
	require.Equal(t, "live", clitest.Read[versionDetails](t, director, environ, "profiles", "show", "duel").State)

	change := "@@ -1,3 +1,3 @@\n name: duel\n teams: [{name: a, players: 1, count: 2}]\n-rules: [{near: skill, within: 100}]\n+rules: [{near: skill, within: 150}]\n"
	require.Equal(t, "--- duel@1\n+++ duel@2\n"+change, director.OK(t, environ, "profiles", "diff", "duel"))
	require.Equal(t, "--- duel@1\n+++ duel@2\n"+change, director.OK(t, environ, "profiles", "diff", "duel@1", "@2"))
	require.Equal(t, "--- duel@1\n+++ duel@2\n"+change, director.OK(t, environ, "profiles", "diff", "duel@1", "duel@2"))
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "profiles", "diff", "duel", duel, duel).Err))
	require.Empty(t, director.OK(t, environ, "profiles", "diff", "duel@1", duel))

	require.Equal(t, []profileChange{{"duel", 1, true}}, clitest.Read[[]profileChange](t, director, environ, "profiles", "rollback", "duel"))
	third := director.Run(t, environ, strings.Replace(duelFile, "100", "175", 1), "profiles", "apply", "-f", "-", "--dry-run")
	require.Regexp(t, `duel +3 +yes +would be live\n`, third.Stdout, "version 2 is taken, though version 1 is live")
	require.Equal(t, []profileChange{{"duel", 2, true}}, clitest.Read[[]profileChange](t, director, environ, "profiles", "shadow", "duel"))
	require.Equal(t, 2, clitest.Read[[]profileLine](t, director, environ, "profiles", "list")[0].Shadow)
	require.Empty(t, clitest.Read[[]shadowLine](t, director, environ, "profiles", "shadow", "duel", "--show"))
	compared := storetest.OnDatabase(t, url)
	require.NoError(t, compared.RecordShadow(t.Context(), "global", db.ShadowMatches{
		Profile: "duel", LiveVersion: 1, ShadowVersion: 2, Sides: []string{"live", "live", "shadow"}, DecidedAt: slices.Repeat([]time.Time{time.Now()}, 3),
		Measures: []string{`{"near-skill": 10}`, `{"near-skill": 20}`, `{"near-skill": 5, "fill": 1}`},
	}))
	require.Equal(t, []shadowLine{
		{"fill", 1, 2, nil, &measure{1, 1, 1, 1}}, {"near-skill", 1, 2, &measure{2, 15, 15, 19}, &measure{1, 5, 5, 5}},
	}, clitest.Read[[]shadowLine](t, director, environ, "profiles", "shadow", "duel", "--show"))
	require.Regexp(t, `near-skill +2 +15 +15 +19 +1 +5 +5 +5`, director.OK(t, environ, "profiles", "shadow", "duel", "--show"))
	require.True(t, clitest.Read[[]profileChange](t, director, environ, "profiles", "shadow", "duel", "--off")[0].Changed)
	require.ErrorContains(t, director.Run(t, environ, "", "profiles", "shadow", "duel", "--show").Err, "has no shadow")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "profiles", "shadow", "duel", "--show", "--off").Err))

	require.ErrorIs(t, director.Run(t, environ, "no\n", "profiles", "retire", "duel").Err, errNotConfirmed)
	require.NoError(t, director.Run(t, environ, "yes\n", "profiles", "retire", "duel").Err)
	require.Empty(t, clitest.Read[[]profileLine](t, director, environ, "profiles", "list"))
	require.Len(t, clitest.Read[[]profileLine](t, director, environ, "profiles", "list", "--all"), 1)
	require.ErrorContains(t, director.Run(t, environ, "", "profiles", "rollback", "duel").Err, "is retired")
	require.ErrorContains(t, director.Run(t, environ, "", "profiles", "show", "nobody").Err, `there is no profile "nobody"`)
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "profiles", "show", "duel@x").Err))
	require.Empty(t, clitest.Read[[]profileLine](t, director, append(environ, "DIRECTOR_OM_REGION=other"), "profiles", "list", "--all"))
}

// Pins a version that a command took and ignored, so that it changed another one than its caller meant.
func TestAVersionThatACommandIgnoresIsRefused(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL=postgres://nobody@127.0.0.1:1/nowhere")
	for _, args := range [][]string{{"retire"}, {"pause"}, {"resume"}, {"shadow", "--off"}, {"shadow", "--show"}} {
		refused := director.Run(t, environ, "", slices.Concat([]string{"profiles"}, args, []string{"duel@3"})...)
		require.Equal(t, 2, cli.ExitCode(refused.Err), args)
		require.ErrorContains(t, refused.Err, `"duel@3" names a version`, args)
	}
}

func TestProfilesCheck(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL=postgres://nobody@127.0.0.1:1/nowhere")
	require.Equal(t, "-: profile duel is valid\n", director.Run(t, environ, duelFile, "profiles", "check", "-").Stdout)
	require.Equal(t, "-:3:16: rules[0].near: warning: the attribute skill is not declared, so that a value of another type counts as none: "+
		"add attributes: {skill: {type: number}}\n", director.Run(t, environ, duelFile, "profiles", "check", "-").Stderr)
	const unsaid = "-:3:16: rules[0].near: near takes the attribute skill, which only the player's client vouches for: add attributes: {skill: {from: claim}} or {from: backend}, " +
		"or {from: client} if players may say what they like\n"
	declared := director.Run(t, environ, duelFile+"attributes: {skill: {type: number}}\n", "profiles", "check", "-")
	require.NoError(t, declared.Err)
	require.Equal(t, strings.Replace(unsaid, "near: ", "near: warning: ", 1), declared.Stderr)
	strict := append(slices.Clip(environ), "DIRECTOR_PROFILES_REQUIRE_FROM=true")
	for _, from := range []string{"client", "claim", "backend"} {
		said := director.Run(t, strict, duelFile+"attributes: {skill: {type: number, from: "+from+"}}\n", "profiles", "check", "-")
		require.Equal(t, "-: profile duel is valid\n", said.Stdout)
		require.Empty(t, said.Stderr)
	}
	for _, document := range []string{duelFile, duelFile + "attributes: {skill: {type: number}}\n"} {
		refused := director.Run(t, strict, document, "profiles", "check", "-")
		require.Equal(t, 1, cli.ExitCode(refused.Err))
		require.Equal(t, unsaid, refused.Stdout)
	}
	wrong := writeFile(t, "wrong.yaml", "name: duel\nteams: [{name: a, player: 1}]\n")
	refused := director.Run(t, environ, "", "profiles", "check", wrong)
	require.Equal(t, 1, cli.ExitCode(refused.Err))
	require.Contains(t, refused.Stdout, wrong+":2:19: teams[0].player: a team has no such key: did you mean players?\n")
	refused = director.Run(t, environ, "", "profiles", "apply", "-f", wrong)
	require.ErrorIs(t, refused.Err, errProfilesRefused, "it does not ask the database")
	require.Contains(t, refused.Stderr, wrong+":2:")

	var lines []checkLine
	require.NoError(t, json.Unmarshal([]byte(director.Run(t, environ, "", "profiles", "check", wrong, "-o", "json").Stdout), &lines))
	require.NotEmpty(t, lines[0].Problems)
	require.NoError(t, json.Unmarshal([]byte(director.Run(t, environ, duelFile, "profiles", "check", "-", "-o", "json").Stdout), &lines))
	require.Len(t, lines[0].Warnings, 1)
	require.True(t, json.Valid([]byte(director.OK(t, environ, "profiles", "schema"))))
}

func TestUnifiedDiff(t *testing.T) {
	t.Parallel()
	numbered := func(skip string) string {
		return strings.ReplaceAll("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n", skip, "")
	}
	require.Empty(t, unifiedDiff("a", "b", "x\n", "x\n"))
	require.Equal(t, "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n+x\n\\ No newline at end of file\n", unifiedDiff("a", "b", "x\n", "x"))
	require.Equal(t, "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+x\n+y\n", unifiedDiff("a", "b", "", "x\ny\n"))
	require.Equal(t, "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-x\n", unifiedDiff("a", "b", "x\n", ""))
	require.Equal(t, "--- a\n+++ b\n@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n", unifiedDiff("a", "b", numbered("none"), numbered("5\n6\n")[:8]+"6\n"+numbered("5\n6\n")[8:]))
	far := strings.Replace(strings.Replace(numbered("none"), "\n3\n", "\nthree\n", 1), "\n18\n", "\neighteen\n", 1)
	require.Equal(t, 2, strings.Count(unifiedDiff("a", "b", numbered("none"), far), "@@ -"), "two changes far apart are two hunks")
	long := strings.Repeat("a\n", 5000)
	require.Contains(t, unifiedDiff("a", "b", "x\n"+long+"y\n", "z\n"+long+"w\n"), "-x\n")
}
