package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

func TestEnrolments(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL=" + dbtest.New(t))
	require.Equal(t, "[]\n", director.OK(t, environ, "enrolments", "list", "-o", "json"), "never null")
	require.Equal(t, "[]\n", director.OK(t, environ, "enrolments", "servers", "-o", "json"), "never null")

	made := clitest.Read[newEnrolmentLine](t, director, environ, "enrolments", "create", "--region", "eu", "--name", "rack-7", "--mode", "duel,ffa", "--max-servers", "50", "--valid-for", "2h")
	require.True(t, strings.HasPrefix(made.Token, "le1.eu."+made.ID.String()+"."))
	require.Equal(t, []string{"duel", "ffa"}, made.Modes)
	require.EqualValues(t, 50, made.MaxServers)
	printed := director.Run(t, environ, "", "enrolments", "create", "--region", "eu", "--name", "any", "--max-servers", "1")
	require.NoError(t, printed.Err)
	require.Regexp(t, `^le1\.eu\.[0-9a-f-]{36}\.[0-9a-f]{64}\n$`, printed.Stdout, "a script takes the output as the token")
	require.Contains(t, printed.Stderr, "cannot be shown again")
	require.NotContains(t, printed.Stderr, strings.TrimSpace(printed.Stdout))
	require.ErrorContains(t, director.Run(t, environ, "", "enrolments", "create", "--region", "eu", "--name", "any", "--max-servers", "1").Err, "has an enrolment 'any' already")
	require.ErrorContains(t, director.Run(t, environ, "", "enrolments", "create", "--region", "EU", "--name", "x", "--max-servers", "1").Err, "the region of an enrolment")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "enrolments", "create", "--region", "eu").Err))
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "enrolments", "servers", "--credential", "x").Err))

	listed := director.OK(t, environ, "enrolments", "list", "--wide")
	require.Contains(t, listed, "rack-7")
	require.NotContains(t, listed, strings.Split(made.Token, ".")[3])
	require.Equal(t, []changeLine{{"eu/rack-7", true}}, clitest.Read[[]changeLine](t, director, environ, "enrolments", "revoke", "eu/rack-7", "--servers"))
	require.Equal(t, []changeLine{{"eu/rack-7", false}}, clitest.Read[[]changeLine](t, director, environ, "enrolments", "revoke", "eu/rack-7"))
	require.ErrorContains(t, director.Run(t, environ, "", "enrolments", "revoke", "eu/x").Err, "has no enrolment 'x'")
	require.ErrorContains(t, director.Run(t, environ, "", "enrolments", "revoke", "rack-7").Err, "REGION/NAME")
	require.ErrorContains(t, director.Run(t, environ, "", "enrolments", "revoke", "eu/any", "rack-7").Err, "REGION/NAME", "before the first is revoked")
	require.ErrorContains(t, director.Run(t, environ, "", "enrolments", "revoke-server", "a").Err, "no credential of an enrolment")
	require.Len(t, clitest.Read[[]opsview.Enrolment](t, director, environ, "enrolments", "list"), 1)
	require.Len(t, clitest.Read[[]opsview.Enrolment](t, director, environ, "enrolments", "list", "--all"), 2)
	require.Contains(t, director.OK(t, environ, "events", "-o", "json"), "enrolment.revoked")
}
