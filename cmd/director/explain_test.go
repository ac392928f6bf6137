package main

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/match/explain"
)

// Pins an explanation that people cannot read, or programs not parse, and an id that fails without a reason.
func TestExplain(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	director.OK(t, environ, "profiles", "apply", "-f", writeFile(t, "duel.yaml", duelFile))
	me := s.QueuePlayer("ada", 1000, "duel")
	s.QueuePlayer("bo", 1231, "duel")

	text := director.OK(t, environ, "explain", "ticket", me)
	require.Contains(t, text, "ticket "+me+": queued, ")
	require.Contains(t, text, "duel v1: 0 of 1 others pass the rules in a pair; best 1 of 2 players; would match if near-skill allowed 231\n")
	found := clitest.Read[explain.Ticket](t, director, environ, "explain", "ticket", me)
	require.Equal(t, 1, found.Schema)
	require.InDelta(t, 231, *found.Profiles[0].WouldMatch[0].Within, 0)

	require.ErrorContains(t, director.Run(t, environ, "", "explain", "ticket", "nonsense").Err, "DIRECTOR_MATCH_HISTORY")
	require.ErrorContains(t, director.Run(t, environ, "", "explain", "match", uuid.NewString()).Err, "DIRECTOR_MATCH_HISTORY")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "explain", "match", "nonsense").Err))
	require.Contains(t, director.OK(t, environ, "__complete", "explain", "ticket", me[:4]), me)
}
