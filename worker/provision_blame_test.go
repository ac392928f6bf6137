package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
)

// failures returns how many failures in a row count against the version in a region.
func (w *works) failures(region string) int {
	w.bundle.t.Helper()
	return storetest.One[int](w.bundle.DB,
		"SELECT coalesce(sum(count), 0)::int FROM start_pauses WHERE region = $1 AND cause = 'failures'", region)
}

// Pins servers that end as soon as they start and are replaced for ever, each of them paid for.
func TestACrashLoopPausesTheVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		crash func(w *works, id uuid.UUID, s *server)
		gone  string
	}{
		"the process ends": {func(w *works, _ uuid.UUID, s *server) { w.shop.end(s.Ref) },
			"gone: the server has ended"},
		"the provider says failed": {func(_ *works, _ uuid.UUID, s *server) { s.failed = true },
			"gone: the provider could not run it"},
		"too slow": {func(_ *works, _ uuid.UUID, s *server) { s.Started = s.Started.Add(time.Hour) },
			"gone: not ready within 3m0s"},
		"no game port": {func(w *works, id uuid.UUID, _ *server) {
			w.Exec("UPDATE app_versions SET game_port = 'other'")
			w.join(id)
		}, "gone: no_endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setupWorks(t)
			p := w.worker()
			for i := range 3 {
				id := w.want()
				w.step(p)
				c.crash(w, id, w.servers[provider.Ref(storetest.One[string](w.bundle.DB,
					"SELECT ref FROM deployments"))])
				for n := 0; w.phase(id) != c.gone; n++ {
					w.let(time.Second, p)
					require.Less(t, n, 300, w.phase(id))
				}
				require.Equal(t, i+1, w.failures("eu"))
			}
			require.True(t, storetest.One[bool](w.bundle.DB, "SELECT until > $1 FROM start_pauses", w.Now()))
			require.Empty(t, w.refs())
		})
	}
}

// A server that players have used is no failure of its version, nor is one that was ended.
func TestServersThatWereReadyAreNoFailures(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.ready(p)
	w.Exec("UPDATE deployments SET ready_at = $1::timestamptz - interval '2 minutes'", w.Now())
	w.shop.end("ref-0")
	w.Exec("UPDATE deployments SET next_at = $1, woken_at = clock_timestamp()", w.Now())
	w.let(5*time.Second, p)
	require.Equal(t, "gone: the server has ended", w.phase(id))
	id = w.want()
	w.step(p)
	require.NoError(t, w.StopDeployment(t.Context(), "eu", id, "enough"))
	w.let(20*time.Second, p)
	require.Equal(t, "gone: enough", w.phase(id))
	require.Zero(t, w.failures("eu"))
}

// crash makes servers that were ready just now end by themselves.
func (w *works) crash(p *provisioner, ids ...uuid.UUID) {
	w.bundle.t.Helper()
	w.Exec("UPDATE deployments SET ready_at = $1 WHERE ready_at IS NOT NULL", w.Now())
	w.elapse(30 * time.Second)
	for _, id := range ids {
		w.shop.end(storetest.One[provider.Ref](w.bundle.DB, "SELECT ref FROM deployments WHERE id = $1", id))
		w.Exec("UPDATE deployments SET next_at = $1, woken_at = clock_timestamp() WHERE id = $2", w.Now(), id)
		w.step(p)
		require.Equal(w.bundle.t, "gone: crashed soon after it was ready: the server has ended", w.phase(id))
	}
}

// Pins servers that crash as soon as players come, and are replaced for ever: each of them was ready, which ended the
// count of failures.
func TestACrashLoopAfterReadyPausesTheVersion(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	for i := range 3 {
		w.crash(p, w.ready(p))
		require.Equal(t, i+1, w.failures("eu"))
	}
	require.Equal(t, time.Minute, storetest.One[time.Duration](w.bundle.DB,
		"SELECT until - $1 FROM start_pauses WHERE cause = 'failures'", w.Now()).Round(time.Second))
	w.let(2*time.Minute, p)
	w.crash(p, w.ready(p))
	require.Equal(t, 2*time.Minute, storetest.One[time.Duration](w.bundle.DB,
		"SELECT until - $1 FROM start_pauses WHERE cause = 'failures'", w.Now()).Round(time.Second))

	w.let(3*time.Minute, p)
	survivor := w.ready(p)
	w.Exec("UPDATE deployments SET ready_at = $1", w.Now())
	w.let(3*time.Minute, p)
	w.Exec("UPDATE deployments SET desired = 'stopped', reason = 'surplus', stop_at = $1, next_at = $1, woken_at = clock_timestamp() WHERE id = $2", w.Now(), survivor)
	w.let(20*time.Second, p)
	require.Equal(t, "gone: surplus", w.phase(survivor))
	w.crash(p, w.ready(p))
	require.Equal(t, 1, w.failures("eu"), "one survived in between")
}

// Pins a region that is paused because three of many servers have crashed.
func TestAFewCrashesOfManyServersAreNoLoop(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	ids := make([]uuid.UUID, 8)
	for i := range ids {
		ids[i] = w.want()
	}
	w.step(p)
	for _, id := range ids {
		w.join(id)
	}
	w.let(30*time.Second, p)
	w.crash(p, ids[:4]...)
	require.Equal(t, 4, w.failures("eu"), "half of them")
	w.Exec("DELETE FROM start_pauses")
	w.Exec("DELETE FROM deployment_history WHERE id <> $1", ids[0])
	w.crash(p, ids[4])
	require.Zero(t, w.failures("eu"), "two crashed, three may live")
}

// A server that deregisters ends in order, however soon. If it registers again, it has not ended, and may crash.
func TestAServerThatDeregistersIsNoCrash(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	id := w.ready(p)
	require.NoError(t, w.Deregister(t.Context(), db.InstanceRef{InstanceID: id.String()}))
	w.join(id)
	require.Equal(t, 1, storetest.One[int](w.bundle.DB, "SELECT count(*) FROM deployments WHERE reason IS NULL"))
	require.NoError(t, w.Deregister(t.Context(), db.InstanceRef{InstanceID: id.String()}))
	w.shop.end("ref-0")
	w.let(10*time.Second, p)
	require.Equal(t, "gone: deregistered", w.phase(id))
	require.Zero(t, w.failures("eu"))
}

// Pins a server that drains as soon as it is ready, and is replaced by one that does the same: the provider ends
// servers earlier than the version drains ahead.
func TestAShortLifeIsNotAllDrain(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(w *works){
		"the provider says the limit": func(w *works) { w.can.MaxLifetime = time.Hour },
		"each server says its end":    func(w *works) { w.lives = time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setupWorks(t)
			limit(w)
			p := w.worker()
			id := w.ready(p)
			w.let(40*time.Minute, p)
			require.Equal(t, "ready", w.phase(id))
			w.let(10*time.Minute, p)
			require.Equal(t, "gone: drained before the end of its lifetime", w.phase(id))
		})
	}
}

// Pins a batch that one deployment blocks, again and again.
func TestADeploymentWithoutItsVersionBlocksNoOthers(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	lost, other := w.want(), w.want()
	w.Exec("UPDATE deployments SET version = 'deleted' WHERE id = $1", lost)
	w.step(p)
	require.Equal(t, "wanted", w.phase(lost))
	require.Equal(t, "starting", w.phase(other))
}

// A worker that ends hands over the deployments whose calls it has cut.
func TestAWorkerThatEndsHandsItsDeploymentsOver(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	p := w.worker()
	life, end := context.WithCancel(t.Context())
	p.beginLife(life)
	id := w.want()
	w.mu.Lock()
	w.script["deploy"] = append(w.script["deploy"], func() error {
		end()
		return provider.Fail(provider.Ambiguous, "deploy", errors.New("cut"))
	})
	w.mu.Unlock()
	w.step(p)
	require.Equal(t, "deploying", w.phase(id))
	w.elapse(time.Second)
	claimed, err := w.ClaimDeployments(t.Context(),
		provision.DeploymentClaim{Region: "eu", Provider: "shop", Owner: "ld-test", HoldFor: time.Minute, Batch: 1})
	require.NoError(t, err)
	require.Len(t, claimed, 1)
}
