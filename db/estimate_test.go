package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/estimate"
)

// Operators see whether players were told the truth, whichever workers told it.
func TestTheCalibrationOfEstimates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	times := map[string][]db.WaitingTime{"duel": {{UpTo: 5, P50: time.Second, P90: time.Minute, SampleCount: 40}}}
	require.NoError(t, b.PutWaitingTimes(t.Context(), "global", times,
		map[string]estimate.CalibrationCounts{"duel": {WaitCount: 10, BeforeP50: 4, BeforeP90: 9}, "rare": {WaitCount: 1}}))
	require.NoError(t, b.PutWaitingTimes(t.Context(), "global", nil,
		map[string]estimate.CalibrationCounts{"duel": {WaitCount: 10, BeforeP50: 6, BeforeP90: 10}}))
	stored, err := b.WaitingTimes(t.Context(), "global")
	require.NoError(t, err)
	require.Equal(t, times, stored, "a calibration alone changes no times")
	require.Equal(t, "duel 20 0.5 0.95, rare 1 0 0",
		one[string](b, "SELECT string_agg(concat_ws(' ', profile, waits, before_p50, before_p90), ', ' ORDER BY profile) FROM ops.estimates"))
	b.Exec("UPDATE estimate_hours SET hour = hour - interval '30 hours' WHERE profile = 'duel'")
	require.Equal(t, "rare", one[string](b, "SELECT string_agg(profile, ' ') FROM ops.estimates"), "a day is shown")
	b.Exec("UPDATE estimate_hours SET hour = hour - interval '30 hours' WHERE profile = 'duel'")
	require.NoError(t, b.PutWaitingTimes(t.Context(), "global", nil,
		map[string]estimate.CalibrationCounts{"duel": {WaitCount: 1}}))
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM estimate_hours"), "older hours are forgotten")
}
