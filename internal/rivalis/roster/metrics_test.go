package roster

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/metrictest"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow(t)
	registry := prometheus.NewRegistry()
	require.NoError(t, f.registerMetrics(registry))
	_, err := f.events.registerMetrics(registry)
	require.NoError(t, err)
	require.Error(t, f.registerMetrics(registry))
	require.Zero(t, metrictest.Sum(t, registry, "director_roster_age_seconds"))
	require.Zero(t, metrictest.Sum(t, registry, "director_roster_instances"))
	b.writes(func(c *change) { c.joins(agentID(1), "r1", "r2"); c.plays(agentID(1), "r1", 3) })
	f.reads()
	require.Positive(t, metrictest.Sum(t, registry, "director_roster_age_seconds"))
	require.InEpsilon(t, 1, metrictest.Sum(t, registry, "director_roster_instances"), 0)
	require.InEpsilon(t, 2, metrictest.Sum(t, registry, "director_roster_rooms"), 0)
	require.InEpsilon(t, 3, metrictest.Sum(t, registry, "director_roster_connections"), 0)
	require.Equal(t, 1, metrictest.CountSeries(t, registry, "director_fleet_event_streams"))
	require.Zero(t, metrictest.Sum(t, registry, "director_fleet_event_streams"))
}
