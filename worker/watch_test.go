package worker

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/testkit/metrictest"
)

// Pins alerts that fire on what was wrong long ago: a check that cannot be made any more has no value, and one that is
// well again has 0.
func TestFindingsAreExported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	registry := prometheus.NewRegistry()
	w, err := newWatcher(doctor.Doctor{Store: b.Store}, registry)
	require.NoError(t, err)
	severity := func(check string) float64 {
		_, err := w.runOnce(t.Context())
		require.NoError(t, err)
		return metrictest.Sum(t, registry, "director_finding_severity", "check", check)
	}
	require.InDelta(t, 0, severity("database"), 0)
	require.InDelta(t, 2, severity("workers"), 0, "none has run")
	require.Greater(t, metrictest.CountSeries(t, registry, "director_finding_severity"), 8)

	b.Exec("INSERT INTO worker_loops (loop, every) VALUES ('reap', '1 s')")
	require.InDelta(t, 0, severity("workers"), 0)

	b.Exec("DELETE FROM goose_db_version WHERE version_id > 1")
	require.InDelta(t, 2, severity("schema"), 0)
	require.Equal(t, 2, metrictest.CountSeries(t, registry, "director_finding_severity"), "what follows a vital check is not known")
}

// Pins a worker of which nobody can tell whether it runs.
func TestAWorkerReports(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := reporter{b.Store}.runOnce(t.Context())
	require.NoError(t, err)
	var age float64
	require.NoError(t, b.Pool().QueryRow(t.Context(),
		"SELECT extract(epoch FROM age)::float8 FROM ops.process_reports").Scan(&age))
	require.Less(t, age, 60.0)
	b.Close()
	_, err = reporter{b.Store}.runOnce(t.Context())
	require.Error(t, err)
}
