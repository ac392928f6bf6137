package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

func TestBeaconsOfRegions(t *testing.T) {
	t.Parallel()
	environ := env("DATABASE_URL=" + dbtest.New(t))
	set := func(region, url string) []changeLine {
		return clitest.Read[[]changeLine](t, director, environ, "regions", "beacon", region, url)
	}
	require.Equal(t, []changeLine{{"eu", true}}, set("eu", "https://eu.example/ping"))
	require.Equal(t, []changeLine{{"eu", false}}, set("eu", "https://eu.example/ping"))
	require.Equal(t, []opsview.GameRegion{{Region: "eu", Beacon: "https://eu.example/ping"}}, clitest.Read[[]opsview.GameRegion](t, director, environ, "regions", "list"))
	require.ErrorContains(t, director.Run(t, environ, "", "regions", "beacon", "eu", "ftp://eu.example").Err, "a URL of http or https")
	require.Equal(t, 2, cli.ExitCode(director.Run(t, environ, "", "regions", "beacon", "eu", "").Err))
	require.Equal(t, []changeLine{{"eu", true}}, set("eu", "none"))
	require.Empty(t, clitest.Read[[]opsview.GameRegion](t, director, environ, "regions", "list"))
}
