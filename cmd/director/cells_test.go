package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestCellsOfOperators(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	set := func(more ...string) []changeLine {
		return clitest.Read[[]changeLine](t, director, environ, append([]string{"cells", "set", "us", "https://us.example", "--reason", "data stays there"}, more...)...)
	}
	regions := []string{"--regions", "us-east,us-west", "--listener", "console=https://console.us.example"}
	require.Equal(t, []changeLine{{"us", true}}, set(regions...))
	require.Equal(t, []changeLine{{"us", false}}, set(regions...))
	cells := clitest.Read[[]opsview.Cell](t, director, environ, "cells", "list")
	require.Len(t, cells, 1)
	require.Equal(t, []string{"us-east", "us-west"}, cells[0].Regions)
	require.Equal(t, map[string]string{"console": "https://console.us.example"}, cells[0].Listeners)
	require.Equal(t, []opsview.GameRegion{{Region: "us-east", Cell: "us", Address: "https://us.example"}, {Region: "us-west", Cell: "us", Address: "https://us.example"}},
		clitest.Read[[]opsview.GameRegion](t, director, environ, "regions", "list"))

	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "cells", "set", "us", "https://us.example", "--regions", "us").Err), "without a reason")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "cells", "set", "us", "https://us.example", "--reason", "x").Err), "without regions")
	require.ErrorContains(t, director.Run(t, environ, "", "cells", "set", "us", "https://us.example?x", "--regions", "us", "--reason", "x").Err, "a base URL of http or https")
	s.AddServer("eu-1", 8)
	require.ErrorContains(t, director.Run(t, environ, "", "cells", "set", "us", "https://us.example", "--regions", "eu", "--reason", "x").Err, "has game servers here")
	require.Equal(t, []changeLine{{"us", true}}, set("--regions", "eu", "--even-if-used"))

	require.ErrorIs(t, director.Run(t, environ, "no\n", "cells", "remove", "us", "--reason", "merged").Err, errNotConfirmed)
	require.ErrorContains(t, director.Run(t, environ, "", "cells", "remove", "usa", "--reason", "merged", "--yes").Err, `no cell "usa"`)
	require.Equal(t, []changeLine{{"us", true}}, clitest.Read[[]changeLine](t, director, environ, "cells", "remove", "us", "--reason", "merged", "--yes"))
	require.Empty(t, clitest.Read[[]opsview.Cell](t, director, environ, "cells", "list"))
}
