package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/match/replay"
)

const duelDocument = "name: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\nrules: [{near: skill, within: 100}]\n"

func TestSimulate(t *testing.T) {
	t.Parallel()
	file, page := filepath.Join(t.TempDir(), "duel.yaml"), filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte(duelDocument), 0o600))
	out := director.OK(t, env(), "simulate", "--profile", file, "--players", "720", "--hours", "0.1", "--parties", "1:1", "--report", page, "-o", "json")
	var r replay.Report
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.InDelta(t, 720, r.Replayed.Tickets, 110)
	require.Positive(t, r.Replayed.Matches)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "<h1>duel</h1>")

	out = director.OK(t, env(), "simulate", "--profile", file, "--hours", "0.01")
	require.Regexp(t, `tickets matched +\d+ \(`, out)
	require.Contains(t, out, "Not reproduced:")

	for flag, value := range map[string]string{"--rate": "0", "--skill": "flat", "--parties": "x:1", "--regions": "eu", "--from": "noon", "--profile": "", "--accept-rate": "2"} {
		require.ErrorContains(t, director.Run(t, env(), "", "simulate", "--profile", file, flag, value).Err, flag[2:], flag)
	}
	for flag, values := range map[string][]string{
		"--number": {"skill", "skill=flat:1,2", "skill=uniform:1", "skill=normal:x,1", "speed=constant:1", "=constant:1"},
		"--text":   {"skill=choice:a", "map=choice:", "map=choice:a:0", "map=choice:a,a", "map=constant:", "map=dust"},
	} {
		for _, value := range values {
			r := director.Run(t, env(), "", "simulate", "--profile", file, "--hours", "0.01", flag, value)
			require.ErrorContains(t, r.Err, flag[2:], value)
			require.Equal(t, 2, cli.ExitCode(r.Err))
		}
	}
	refused := director.Run(t, env(), "name: duel\nteams: [{name: a, player: 1}]\n", "simulate", "--profile", "-")
	require.ErrorIs(t, refused.Err, errProfilesRefused)
	require.Contains(t, refused.Stderr, "-:2:19: teams[0].player: ")
}

const levelsDocument = "name: levels\nattributes: {role: {type: string}}\nteams: [{name: red, players: 1, roles: {tank: 1}}, {name: blue, players: 1}]\n" +
	"rules: [{near: level, within: 5}, {latency: 100ms}]\n"

// The report has the distributions that were asked for, waiting against spread, and says why tickets are no candidates.
func TestSimulateSaysWhatTicketsLack(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "levels.yaml")
	require.NoError(t, os.WriteFile(file, []byte(levelsDocument), 0o600))
	args := []string{"simulate", "--profile", file, "--hours", "0.05", "--parties", "1:1", "--number", "level=uniform:1,60"}
	out := director.OK(t, env(), args...)
	require.Regexp(t, `waiting, p50 p95 max +\S+  \S+  \S+`, out)
	require.Regexp(t, `< \S+ +█+ [0-9.]+ \(\d+ matches\)`, out)
	require.NotContains(t, out, "candidates")
	none := slices.Concat(args, []string{"--regions", ""})
	out = director.OK(t, env(), none...)
	require.Regexp(t, `\n- \d+: they measured no latency, which rule latency needs\n`, out)
	var r replay.Report
	require.NoError(t, json.Unmarshal([]byte(director.OK(t, env(), slices.Concat(none, []string{"-o", "json"})...)), &r))
	require.Equal(t, r.Replayed.Tickets, r.NoCandidates.Tickets)
	require.Equal(t, "latency", r.NoCandidates.Why[0].Rule)
}
