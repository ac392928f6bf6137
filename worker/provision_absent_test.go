package worker

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/edgegap"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
)

// Pins a young server that was abandoned, and blamed on its version, because its provider knew it a moment late.
func TestAYoungServerThatIsNotKnownYetIsKept(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.knows = 4 * time.Second
	p := w.worker()
	id := w.want()
	w.let(10*time.Second, p)
	require.Equal(t, "starting", w.phase(id))
	w.join(id)
	w.let(30*time.Second, p)
	require.Equal(t, "ready", w.phase(id))
	require.Zero(t, w.failures("eu"))
	require.Len(t, w.refs(), 1)
	require.True(t, storetest.One[bool](w.bundle.DB, "SELECT missing_since IS NULL FROM deployments"))
}

// Pins a server that ran on without a deployment: its provider did not know it when it was stopped.
func TestAYoungServerIsStoppedAlthoughItIsNotKnownYet(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.knows = 4 * time.Second
	p := w.worker()
	id := w.want()
	w.step(p)
	require.NoError(t, w.StopDeployment(t.Context(), "eu", id, "enough"))
	w.let(30*time.Second, p)
	require.Equal(t, "gone: enough", w.phase(id))
	require.Empty(t, w.refs())
}

func TestAServerThatIsNotKnownTwiceIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		become func(w *works, p *provisioner) uuid.UUID
		gone   string
	}{
		"it starts": {func(w *works, p *provisioner) uuid.UUID {
			id := w.want()
			w.step(p)
			return id
		}, "gone: the provider does not know the server"},
		"it is ready": {func(w *works, p *provisioner) uuid.UUID {
			id := w.ready(p)
			w.Exec("UPDATE deployments SET ready_at = $1, next_at = $1, woken_at = clock_timestamp()", w.Now())
			return id
		}, "gone: crashed soon after it was ready: the provider does not know the server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setupWorks(t)
			p := w.worker()
			id := c.become(w, p)
			before := w.phase(id)
			w.mu.Lock()
			clear(w.servers)
			w.mu.Unlock()
			w.let(4*time.Second, p)
			require.Equal(t, before, w.phase(id))
			w.let(10*time.Second, p)
			require.Equal(t, c.gone, w.phase(id))
			require.Equal(t, 1, w.failures("eu"))
		})
	}
}

// The first answer about a server of Edgegap is that it is unknown.
func TestAServerOfEdgegapThatIsNotKnownYetIsKept(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	fake := edgegaptest.New(edgegaptest.Options{})
	srv := httptest.NewServer(fake)
	t.Cleanup(srv.Close)
	t.Cleanup(fake.Close)
	shop, err := edgegap.New(edgegap.Config{Token: "edgegap-test-key", URL: srv.URL})
	require.NoError(t, err)
	o := w.options()
	o.Providers, o.Provision = map[string]provider.Provider{"shop": shop}, &w.opt
	m, err := New(o)
	require.NoError(t, err)
	t.Cleanup(m.provision.finishSteps)
	fake.QueueFaults("get", edgegaptest.NotKnown)
	w.Exec("UPDATE app_versions SET launch_version = '1.0'")
	id := w.want()
	w.Exec("UPDATE deployments SET address = '203.0.113.7'")
	w.step(m.provision)
	w.join(id)
	w.until(m.provision, id, "ready")
	require.Equal(t, 1, fake.AliveCount())
	require.Equal(t, 1, fake.Calls("deploy"))
	require.Zero(t, w.failures("eu"))
}

// Pins players who wait for 45 seconds for a server that was never started: the call had no answer, and the provider
// lists nothing.
func TestALostDeployIsNoSupply(t *testing.T) {
	t.Parallel()
	for name, lists := range map[string]bool{"a provider that lists": true, "a provider that does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setupWorks(t)
			w.can.List = lists
			w.Exec("INSERT INTO pools (region, app, version, min_servers, max_servers) VALUES ('eu', 'arena', '1.0', 1, 2)")
			p := w.worker()
			id := w.want()
			w.next("deploy", provider.Fail(provider.Ambiguous, "deploy", errors.New("cut")))
			started := func() int {
				// plans are made in real time
				w.Exec("UPDATE deployments SET missing_since = now() - ($1::timestamptz - missing_since)", w.Now())
				w.Exec("UPDATE pools SET planned_at = '-infinity'")
				done, err := w.PlanPools(t.Context(), "eu", time.Minute, func(string, uuid.UUID) ([]byte, string, error) { return nil, "", nil })
				require.NoError(t, err)
				w.Exec("UPDATE deployments SET missing_since = $1::timestamptz - (now() - missing_since)", w.Now())
				return done.StartedServers
			}
			w.let(4*time.Second, p)
			require.Zero(t, started(), "it may be listed soon")
			w.let(4*time.Second, p)
			require.Equal(t, "deploying", w.phase(id))
			require.Equal(t, 1, started())
			require.Zero(t, started())
		})
	}
}

// A lost server that turns up is adopted, and is supply again.
func TestALostServerThatTurnsUpIsAdopted(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.lists = 10 * time.Second
	p := w.worker()
	id := w.want()
	tag := storetest.One[provider.Tag](w.bundle.DB, "SELECT tag FROM deployments")
	w.mu.Lock()
	w.script["deploy"] = append(w.script["deploy"], func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.servers["late"] = &server{Observation: provider.Observation{Ref: "late", Tag: tag,
			Phase: provider.PhasePending, Started: w.shop.now}}
		return provider.Fail(provider.Ambiguous, "deploy", errors.New("cut"))
	})
	w.mu.Unlock()
	missing := func() bool {
		return storetest.One[bool](w.bundle.DB, "SELECT missing_since IS NOT NULL FROM deployments")
	}
	w.let(8*time.Second, p)
	require.Equal(t, "deploying", w.phase(id))
	require.True(t, missing())
	w.let(8*time.Second, p)
	require.Equal(t, "starting", w.phase(id))
	require.False(t, missing())
	require.Equal(t, 1, w.count("deploy"))
	w.requireSame()
}
