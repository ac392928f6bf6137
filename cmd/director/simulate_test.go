package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

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
	refused := director.Run(t, env(), "name: duel\nteams: [{name: a, player: 1}]\n", "simulate", "--profile", "-")
	require.ErrorIs(t, refused.Err, errProfilesRefused)
	require.Contains(t, refused.Stderr, "-:2:19: teams[0].player: ")
}
