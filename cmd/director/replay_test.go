package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/match/replay"
)

// recorded has two players who were matched after 5 and 4 s, and one who cancelled after a minute.
const recorded = `INSERT INTO match_history (region, id, profile, version, epoch, seed, tickets, players, why, decided_at, committed_at)
VALUES ('global', '00000000-0000-0000-0000-000000000001', 'duel', 1, 1, 7, '{a,b}', 2,
	'{"rules": [{"rule": "near-skill", "value": 60, "limit": 100}], "teams": []}', '2026-01-05 18:00:05Z', '2026-01-05 18:00:06Z');
INSERT INTO ticket_history (region, id, created, seen_at, left_at, profiles, party, attributes, outcome, profile, match_id) VALUES
	('global', 'a', '2026-01-05 18:00:00Z', '2026-01-05 18:00:00Z', '2026-01-05 18:00:06Z', '{duel}', '{ada}', '{"ada": {"skill": 1000}}', 'assigned', 'duel', '00000000-0000-0000-0000-000000000001'),
	('global', 'b', '2026-01-05 18:00:01Z', '2026-01-05 18:00:01Z', '2026-01-05 18:00:06Z', '{duel}', '{bo}', '{"bo": {"skill": 1060}}', 'assigned', 'duel', '00000000-0000-0000-0000-000000000001'),
	('global', 'c', '2026-01-05 18:00:02Z', NULL, '2026-01-05 18:01:02Z', '{duel}', '{cy}', '{"cy": {"skill": 1130}}', 'cancelled', NULL, NULL)`

func TestReplay(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ := env("DATABASE_URL=" + url)
	file, page := filepath.Join(t.TempDir(), "duel.yaml"), filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte(duelDocument), 0o600))
	replays := func(args ...string) []string {
		return append([]string{"replay", "--from", "2026-01-05T17:00:00Z", "--to", "2026-01-05T19:00:00Z"}, args...)
	}
	empty := director.Run(t, environ, "", replays("--profile", file)...)
	require.ErrorContains(t, empty.Err, "DIRECTOR_MATCH_HISTORY")

	require.NoError(t, director.Run(t, environ, "", "profiles", "apply", "-f", file).Err)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), recorded)
	require.NoError(t, errors.Join(err, conn.Close(t.Context())))
	r := clitest.Read[replay.Report](t, director, environ, replays("--name", "duel@1", "--report", page)...)
	require.Equal(t, 1, r.Version)
	require.Equal(t, replay.Reproduced{Matches: 1, Of: 1, SameRules: 1, FromSame: 1, Owners: 1}, *r.Reproduced)
	require.InDelta(t, 0.5, r.Replayed.Waiting.Mean, 0.001)
	require.InDelta(t, 4.5, r.Recorded.Waiting.Mean, 0.001)
	require.Equal(t, 1, r.Recorded.NeverMatched.Quit)
	require.InDelta(t, 60, r.Recorded.Quality[0].Values.Mean, 0.001)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "reproduced 1 of 1 matches")

	narrow := "name: narrow\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\nrules: [{near: skill, within: 50}]\n"
	shown := director.Run(t, environ, narrow, replays("--profile", "-", "--name", "duel")...)
	require.NoError(t, shown.Err)
	require.Regexp(t, `tickets matched +2 \(66.7 %\) +0 \(0.0 %\)`, shown.Stdout)
	require.Contains(t, shown.Stdout, "0 of 1 recorded matches would have been the same")
	require.Contains(t, shown.Stdout, "2 tickets (censored)")

	// Pins a report of zeros for a profile that had no tickets, while others named none.
	conn, err = pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `INSERT INTO ticket_history (region, id, created, left_at, profiles, party, attributes, outcome)
		VALUES ('global', 'd', '2026-01-05 18:00:02Z', '2026-01-05 18:01:02Z', '{}', '{di}', '{"di": {"skill": 1130}}', 'cancelled')`)
	require.NoError(t, errors.Join(err, conn.Close(t.Context())))
	for document, want := range map[string]string{
		narrow:                              "but 1 that named no profile, and this one has no pool for them",
		"pool: {tags: [ranked]}\n" + narrow: "but 1 that named no profile, of which its pool and rules take none",
	} {
		none := director.Run(t, environ, document, replays("--profile", "-")...)
		require.ErrorContains(t, none.Err, want)
		require.ErrorContains(t, none.Err, "the history begins at 2026-01-05T18:00:06Z")
	}

	for want, args := range map[string][]string{
		"--profile is missing": {"replay", "--from", "1h"}, "--from is missing": {"replay", "--name", "duel"},
		"must be before":       {"replay", "--name", "duel", "--from", "0s", "--to", "1h"},
		"--capacity":           {"replay", "--name", "duel", "--from", "1h", "--capacity", "some"},
		"--accept-rate":        {"replay", "--name", "duel", "--from", "1h", "--accept-rate", "1.5"},
		"must have no version": {"replay", "--profile", file, "--name", "duel@1", "--from", "1h"},
	} {
		refused := director.Run(t, environ, "", args...)
		require.ErrorContains(t, refused.Err, want)
		require.Equal(t, 2, cli.ExitCode(refused.Err))
	}
}
