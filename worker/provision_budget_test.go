package worker

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

func TestAPauseThatTheProviderAsksForBindsAllWorkers(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.can.Rates.Deploy = 100
	p, other := w.worker(), w.worker()
	w.next("deploy", &provider.Error{Kind: provider.RateLimited, Op: "deploy", RetryAfter: 30 * time.Second,
		Err: errors.New("429")})
	w.want()
	w.step(p)
	w.want()
	w.let(29*time.Second, p, other)
	require.Equal(t, 1, w.count("deploy"))
	w.let(20*time.Second, p, other)
	require.Equal(t, 3, w.count("deploy"))
}

// Two workers make at most as many calls as the shared budget has.
func TestBudgetIsShared(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.can.Rates.Deploy = 5
	p, other := w.worker(), w.worker()
	for range 100 {
		w.want()
	}
	w.let(10*time.Second, p, other)
	require.InDelta(t, 5*budgetShare*11, w.count("deploy"), 5)
	w.let(20*time.Second, p, other)
	require.Equal(t, 100, w.count("deploy"))
}

// Pins a worker on a restored copy of the database that stops the servers of production.
func TestAWorkerWithAnotherOwnerProvisionsNothing(t *testing.T) {
	t.Parallel()
	w := setupWorks(t)
	w.step(w.worker())
	id := w.want()
	w.opt.Owner = "ld-copy"
	_, err := w.worker().runOnce(t.Context())
	require.ErrorContains(t, err, "belongs to owner ld-test")
	require.Equal(t, "wanted", w.phase(id))
	claimed, err := w.ClaimDeployments(t.Context(),
		provision.DeploymentClaim{Region: "eu", Provider: "shop", Owner: "ld-copy", HoldFor: time.Minute, Batch: 1})
	require.NoError(t, err)
	require.Empty(t, claimed)
}
