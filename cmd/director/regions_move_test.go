package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// The Postgres of tests does not replicate, which the dry run says; test/faults moves a region.
func TestMovesOfRegions(t *testing.T) {
	t.Parallel()
	here, there := dbtest.New(t), dbtest.New(t)
	environ := env("DATABASE_URL=" + here)
	move := []string{"regions", "move", "eu", "--to", there}
	cells := []string{"--cell", "us", "--address", "https://us.example", "--here", "europe", "--here-address",
		"https://eu.example"}
	run := func(args ...string) clitest.Result {
		return director.Run(t, environ, "", append(move, args...)...)
	}
	plan := clitest.Read[db.MovePlan](t, director, environ, append(append(move, cells...), "--dry-run")...)
	require.Equal(t, "https://us.example", plan.Address)
	require.Empty(t, plan.Rows)
	require.Len(t, plan.Obstacles, 1)
	require.Contains(t, plan.Obstacles[0], "set it to logical")

	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "regions", "move", "eu").Err), "without --to")
	require.Equal(t, 2, cli.ExitCode(run("--dry-run", "--undo").Err))
	require.Equal(t, 2, cli.ExitCode(run(cells...).Err), "without a reason")
	require.ErrorContains(t, run("--dry-run").Err, "name the cell to which the region moves")
	require.ErrorIs(t, director.Run(t, environ, "no\n", append(append(move, cells...), "--reason", "x")...).Err,
		errNotConfirmed)
	require.ErrorContains(t, run(append(cells, "--reason", "x", "--yes")...).Err, "set it to logical")
	require.ErrorContains(t, run("--undo", "--yes").Err, `no move of region "eu" runs`)
	require.Empty(t, clitest.Read[[]opsview.RegionMove](t, director, environ, "regions", "moves"))
}

// Pins a move by which the other Postgres connected through the pooler, and a worker that listened there, although
// DATABASE_URL_DIRECT was set.
func TestCommandsThatReadTheDirectURL(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"regions", "move"}, {"work"}, {"serve"}, {"migrate", "up"}, {"doctor"}} {
		help := director.OK(t, env(), append(command, "--help")...)
		if strings.Contains(help, "--help-all") { // a command with few settings shows all
			help = director.OK(t, env(), append(command, "--help-all")...)
		}
		require.Contains(t, help, "--database-url-direct", command)
	}
	// The form of this URL is refused where it is read: the libpq of the other Postgres needs a postgres:// URL.
	environ := env("DATABASE_URL="+dbtest.New(t), "DATABASE_URL_DIRECT=host=db dbname=director")
	moved := director.Run(t, environ, "", "regions", "move", "eu", "--to", "postgres://h/d", "--dry-run")
	require.ErrorContains(t, moved.Err, "--from must have the form")
}
