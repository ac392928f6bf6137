package worker

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
)

// Pins trouble in one region, such as a location of the provider that is broken, that stopped the servers of all
// regions for half an hour.
func TestTroubleInOneRegionPausesThatRegionAlone(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	refused := provider.Fail(provider.Permanent, "deploy", errors.New("no such location"))
	for range 3 {
		w.next("deploy", refused)
		id := w.want("eu")
		w.let(2*time.Second, p)
		require.Equal(t, "gone: the provider refused it", w.phase(id))
	}
	paused, other := w.want("eu"), w.want("us")
	w.let(5*time.Second, p)
	require.Equal(t, "wanted", w.phase(paused))
	require.Equal(t, "starting", w.phase(other))
	require.Equal(t, []int{3, 0}, []int{w.failures("eu"), w.failures("us")})
	require.Equal(t, "deploy: permanent: no such location", storetest.One[string](w.bundle.DB, "SELECT reason FROM start_pauses"))
}

// Pins failures that were added up over the regions: one of each paused the version everywhere.
func TestFailuresOfRegionsDoNotAddUp(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	refused := provider.Fail(provider.Permanent, "deploy", errors.New("no room for tests"))
	w.next("deploy", refused, refused, refused)
	for _, region := range []string{"eu", "us", "asia"} {
		id := w.want(region)
		w.let(2*time.Second, p)
		require.Equal(t, "gone: the provider refused it", w.phase(id))
		require.Equal(t, 1, w.failures(region))
	}
	next := w.want("eu")
	w.let(2*time.Second, p)
	require.Equal(t, "starting", w.phase(next))
	require.Zero(t, storetest.One[int](w.bundle.DB, "SELECT count(*)::int FROM start_pauses WHERE until IS NOT NULL"))
}

// A worker of the release before pauses the version in all regions. That holds until its pause is over.
func TestAPauseOfTheReleaseBeforeHolds(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	w.Exec("UPDATE app_versions SET failures = 3, paused_until = $1::timestamptz + interval '1 minute'", w.Now())
	id := w.want()
	w.let(50*time.Second, p)
	require.Equal(t, "wanted", w.phase(id))
	w.let(20*time.Second, p)
	require.Equal(t, "starting", w.phase(id))
}
