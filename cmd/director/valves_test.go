package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// An operator limits a launch, lets a player in past the line, closes the valve, and opens it.
func TestValves(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	environ := env("DATABASE_URL=" + s.URL)
	valve := func(args ...string) opsview.Valve {
		return clitest.Read[[]opsview.Valve](t, director, environ, append([]string{"valves"}, args...)...)[0]
	}
	require.Empty(t, clitest.Read[[]opsview.Valve](t, director, environ, "valves", "list"))
	made := valve("set", "launch", "--rate", "0.001", "--max-players", "500")
	require.Equal(t, "limited", made.Mode)
	require.Equal(t, int32(500), *made.MaxPlayers)
	require.InDelta(t, 0.05, made.StaffShare, 1e-9)
	require.Nil(t, valve("set", "launch", "--max-players", "0", "--reason", "it goes well").MaxPlayers)

	_, err := s.EnterLoginQueue(t.Context(), db.LoginRequest{Player: "alice"})
	require.NoError(t, err)
	require.Equal(t, int32(1), valve("list").Waiting)
	who := func() string {
		return clitest.Read[[]opsview.Admission](t, director, environ, "valves", "who", "alice")[0].State
	}
	require.Equal(t, "waiting", who())
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "valves", "admit", "launch", "alice").Err),
		"without a reason")
	require.Equal(t, []changeLine{{"alice", true}},
		clitest.Read[[]changeLine](t, director, environ, "valves", "admit", "launch", "alice", "--reason", "on stage"))
	require.Equal(t, "admitted", who())

	require.Equal(t, "closed", valve("close", "launch").Mode)
	require.Equal(t, "open", valve("open", "launch").Mode)
	require.Equal(t, "limited", valve("set", "launch").Mode)
	require.ErrorContains(t, director.Run(t, environ, "", "valves", "open", "lunch").Err, "there is no valve 'lunch'")
	require.ErrorContains(t, director.Run(t, environ, "", "valves", "set", "other").Err, "a new valve needs a rate")
	require.ErrorIs(t, director.Run(t, environ, "no\n", "valves", "delete", "launch").Err, errNotConfirmed)
	// A variable of a script that is not set, which would select the first valve.
	unset := director.Run(t, environ, "", "valves", "delete", "", "--yes").Err
	require.EqualError(t, unset, "an argument is empty: director valves delete NAME")
	require.Equal(t, 2, cli.ExitCode(unset))
	require.Equal(t, []changeLine{{"launch", true}},
		clitest.Read[[]changeLine](t, director, environ, "valves", "delete", "launch", "--yes"))
	require.ErrorContains(t, director.Run(t, environ, "", "valves", "delete", "launch", "--yes").Err, `there is no valve "launch"`)
}
