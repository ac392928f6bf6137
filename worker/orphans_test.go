package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
)

// sweeps runs the loop orphans in each half minute of virtual time.
func (w *works) sweeps(o *orphanSweeper, d time.Duration) Done {
	w.bundle.t.Helper()
	total := Done{}
	for range int(d / (30 * time.Second)) {
		done := must.Get(o.runOnce(w.bundle.t.Context()))(w.bundle.t)
		for what, n := range done {
			total.add(what, n)
		}
		w.step(o.provisioner)
		w.elapse(30 * time.Second)
	}
	return total
}

// adds a server that nobody knows.
func (w *works) stray(ref provider.Ref, tag provider.Tag, started time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[ref] = &server{Observation: provider.Observation{Ref: ref, Tag: tag, Started: started}}
}

// Pins servers that nobody knows and that cost money until somebody reads the bill.
func TestOrphansAreStopped(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	o := &orphanSweeper{provisioner: w.worker()}
	w.ready(o.provisioner)
	own := provider.Tag(storetest.One[string](w.bundle.DB, "SELECT tag FROM deployments"))
	w.stray("old", provider.NewTag(), w.Now().Add(-time.Hour))
	w.stray("young", provider.NewTag(), w.Now())
	w.stray("second", own, w.Now().Add(-time.Hour))

	w.sweeps(o, time.Minute)
	require.ElementsMatch(t, []string{"ref-0", "young"}, w.refs(), "a young server may belong to a step in progress")
	w.sweeps(o, 20*time.Minute)
	require.Equal(t, []string{"ref-0"}, w.refs())
	require.Equal(t, 3, storetest.One[int](w.bundle.DB, "SELECT count(*)::int FROM events WHERE kind = 'deployment.orphan_stopped'"))
	require.InDelta(t, 4, w.count("list"), 1, "one sweep in five minutes")
}

// A ready deployment that two complete lists lack is looked at: absence alone proves nothing.
func TestADeploymentThatIsNotListedIsLookedAt(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	o := &orphanSweeper{provisioner: w.worker()}
	hidden, gone := w.ready(o.provisioner), w.ready(o.provisioner)
	w.lists = 100 * time.Hour
	w.shop.end("ref-1")
	w.sweeps(o, 4*time.Minute)
	require.Equal(t, "ready", w.phase(gone), "one list proves nothing")
	w.sweeps(o, 4*time.Minute)
	require.Equal(t, "gone: the server has ended", w.phase(gone))
	require.Equal(t, "ready", w.phase(hidden))
	require.Equal(t, []string{"ref-0"}, w.refs())
}

// Two workers sweep once.
func TestOneWorkerSweeps(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	for range 3 {
		_, err := (&orphanSweeper{provisioner: w.worker()}).runOnce(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, 1, w.count("list"))
}

// A list that fails proves nothing, and is repeated soon.
func TestAPartialListStopsNothing(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	o := &orphanSweeper{provisioner: w.worker()}
	w.stray("old", provider.NewTag(), w.Now().Add(-time.Hour))
	w.next("list", provider.Fail(provider.Transient, "list", errTest))
	_, err := o.runOnce(t.Context())
	require.ErrorIs(t, err, errTest)
	require.Equal(t, []string{"old"}, w.refs())
	w.elapse(orphanRetry)
	_, err = o.runOnce(t.Context())
	require.NoError(t, err)
	require.Empty(t, w.refs())
}

// Pins a restored copy of the database whose worker stops production's servers.
func TestAForeignWorkerSweepsNothing(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.step(w.worker())
	w.stray("old", provider.NewTag(), w.Now().Add(-time.Hour))
	w.opt.Owner = "ld-copy"
	_, err := (&orphanSweeper{provisioner: w.worker()}).runOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"old"}, w.refs())
	require.Zero(t, w.count("list"))
}
