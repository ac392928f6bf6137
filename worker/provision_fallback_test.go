package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
)

// branch is a second provider, which starts the servers of the shop and keeps the last Spec.
type branch struct {
	*shop

	spec provider.Spec
}

func (b *branch) Deploy(ctx context.Context, s provider.Spec) (provider.Observation, error) {
	b.spec = s
	return b.shop.Deploy(ctx, s)
}

// withBranch gives the app version a fallback, and returns a worker that has no other provider.
func (w *works) withBranch() (*branch, *provisioner) {
	w.bundle.t.Helper()
	w.Exec(`UPDATE app_versions SET fallback = '{"provider": "branch", "launch": "image", "launch_version": "1.4"}'`)
	by := &branch{shop: w.shop}
	return by, w.workerOf("branch", by)
}

var noRoom = provider.Fail(provider.Capacity, "deploy", errors.New("no room"))

// Pins players who wait for a provider without room while another one has it.
func TestAServerStartsAtTheFallbackProvider(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	var asked []string
	w.opt.Environment = func(_ provision.Deployment, v provision.AppVersion) (provider.Env, provider.Secret, error) {
		asked = append(asked, v.Provider)
		return provider.Env{}, "", nil
	}
	first := w.worker()
	by, second := w.withBranch()
	w.next("deploy", noRoom)
	id := w.want()
	w.let(2*time.Second, first, second)
	require.Equal(t, "starting", w.phase(id))
	w.join(id)
	w.let(25*time.Second, first, second)
	require.Equal(t, "ready", w.phase(id))
	require.Equal(t, "branch", storetest.One[string](w.bundle.DB, "SELECT provider FROM deployments"))
	require.Equal(t, []string{"image", "1.4"}, []string{by.spec.App, by.spec.Version})
	require.Equal(t, []string{"shop", "branch"}, asked)
	require.Equal(t, 0, storetest.One[int](w.bundle.DB, "SELECT count(*) FROM ops.pools WHERE state = 'paused'"))
	require.Contains(t, storetest.One[string](w.bundle.DB, "SELECT detail::text FROM events WHERE kind = 'deployment.fell_back'"), `"from": "shop"`)
	w.requireSame()
}

// What an earlier call may have started at the provider is looked for there first.
func TestAServerThatMayExistDoesNotFallBack(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	first := w.worker()
	_, second := w.withBranch()
	w.next("deploy", provider.Fail(provider.Ambiguous, "deploy", errors.New("timeout")), noRoom)
	id := w.want()
	w.let(2*time.Minute, first, second)
	require.Equal(t, "shop", storetest.One[string](w.bundle.DB, "SELECT provider FROM deployments WHERE id = $1", id))
	require.Zero(t, storetest.One[int](w.bundle.DB, "SELECT count(*) FROM events WHERE kind = 'deployment.fell_back'"))
}
