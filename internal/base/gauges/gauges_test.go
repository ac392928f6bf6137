package gauges_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/gauges"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/metrictest"
)

func TestShow(t *testing.T) {
	t.Parallel()
	v := gauges.New("deployments", "Deployments.", "provider", "phase")
	registry := metrictest.Registry(v)
	require.Zero(t, metrictest.CountSeries(t, registry, "deployments"))
	v.Show([]gauges.Series{gauges.Value(1, "a", "ready"), gauges.Value(2, "a", "ended"), gauges.Value(3, "b", "ready")})
	require.InDelta(t, 4, metrictest.Sum(t, registry, "deployments", "phase", "ready"), 0)
	v.Show([]gauges.Series{gauges.Value(5, "b", "ready"), gauges.Value(7, "c", "ready")})
	require.InDelta(t, 12, metrictest.Sum(t, registry, "deployments", "phase", "ready"), 0)
	require.Equal(t, 2, metrictest.CountSeries(t, registry, "deployments"))
	v.Show(nil)
	require.Zero(t, metrictest.CountSeries(t, registry, "deployments"))
}

// Pins a scrape that finds no series, since it comes between Reset and Set.
func TestScrapesSeeSeriesThatStay(t *testing.T) {
	t.Parallel()
	v := gauges.New("lag", "Lag.", "webhook")
	registry := metrictest.Registry(v)
	stays := gauges.Value(1, "stays")
	v.Show([]gauges.Series{stays})
	stop := background.Loop(t, func(ctx context.Context) {
		for ctx.Err() == nil {
			v.Show([]gauges.Series{stays, gauges.Value(1, "goes")})
			v.Show([]gauges.Series{stays})
		}
	})
	defer stop()
	for range 10_000 {
		require.InDelta(t, 1, metrictest.Sum(t, registry, "lag", "webhook", "stays"), 0)
	}
}
