package baseline_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench/baseline"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Pins notifications of the warm-up that are counted, and a measurement that outlasts its caller.
func TestNotices(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	res, err := baseline.Notices(t.Context(), url, 20*time.Millisecond, 100*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, "notice", res.Scenario)
	require.Positive(t, res.Calls)
	require.LessOrEqual(t, res.Calls, int64(20))
	require.Positive(t, res.Latency.P50)

	stopped, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	_, err = baseline.Notices(stopped, url, 0, time.Hour)
	require.Error(t, err)
}
