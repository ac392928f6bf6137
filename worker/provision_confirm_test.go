package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/agones/agonestest"
)

// allocator is a loop with Agones, whose first allocation is not answered.
type allocator struct {
	*works
	*provisioner
	cluster *agonestest.Fake
	id      uuid.UUID
}

func allocate(t *testing.T, kubernetes bool) *allocator {
	t.Helper()
	a := &allocator{works: setupWorks(t)}
	cluster, p := agonesCluster(t, kubernetes)
	a.cluster = cluster
	a.provisioner = a.works.workerOf("shop", p)
	a.cluster.QueueFaults("allocate", agonestest.LoseAnswer)
	a.id = a.want()
	a.step(a.provisioner)
	require.Equal(t, "deploying", a.phase(a.id))
	require.Equal(t, 1, a.cluster.AliveCount(), "the allocation was made")
	return a
}

// claim registers a server that names a ref. Each ref is a process of its own.
func (a *allocator) claim(ref string) error {
	r := db.Registration{
		InstanceID: a.id.String(), Region: "eu", Modes: []string{"duel"}, Capacity: 8, BootID: "boot-" + ref,
		Endpoint: "192.0.2.1:5000", ProviderRef: ref,
		Joining: &provision.Joining{Region: "eu", ID: a.id, TokenBy: "aa"},
	}
	_, err := a.works.Register(a.works.bundle.t.Context(), r)
	return err
}

func (a *allocator) ref() string {
	return storetest.One[string](a.works.bundle.DB, "SELECT coalesce(ref, '') FROM deployments WHERE id = $1", a.id)
}

// Pins a server that runs for nobody, and a second one that is paid for: the allocator's answer is lost, and nothing
// lists game servers.
func TestALostAllocationIsAdoptedByItsRef(t *testing.T) {
	t.Parallel()
	a := allocate(t, false)
	ref := a.cluster.Refs()[0]
	require.NoError(t, a.claim(ref))
	a.until(a.provisioner, a.id, "ready")
	require.Equal(t, ref, a.ref())
	require.Equal(t, "192.0.2.1:5000", storetest.One[string](a.works.bundle.DB,
		"SELECT endpoint FROM deployments WHERE id = $1", a.id), "the answer that had the address is lost")
	a.let(5*time.Minute, a.provisioner)
	require.Len(t, a.cluster.Refs(), 1, "nothing was allocated twice")
	require.Equal(t, "ready", a.phase(a.id))
}

// Pins a deployment that takes a server because it says so.
func TestALyingRefIsNotAdopted(t *testing.T) {
	t.Parallel()
	for _, kubernetes := range []bool{false, true} {
		a := allocate(t, kubernetes)
		name, _, _ := strings.Cut(a.cluster.Refs()[0], "/")
		lie := name + "/" + string(provider.NewTag())
		if kubernetes {
			_, tag, _ := strings.Cut(a.cluster.Refs()[0], "/")
			lie = "another-server/" + tag
		}
		require.NoError(t, a.claim(lie))
		asked := a.works.Now()
		for storetest.One[bool](a.works.bundle.DB, "SELECT claimed_ref IS NOT NULL FROM deployments") {
			a.let(500*time.Millisecond, a.provisioner)
		}
		require.Empty(t, a.ref())
		require.Equal(t, kubernetes, a.works.Now().Sub(asked) > 4*time.Second,
			"one answer that a ref is unknown proves nothing")
		require.Equal(t, 1, storetest.One[int](a.works.bundle.DB, `SELECT count(*)::int FROM deployments WHERE claimed_ref IS NULL AND last_error LIKE '%does not confirm%'`))
		if kubernetes {
			a.until(a.provisioner, a.id, "ready")
			require.Equal(t, a.cluster.Refs()[0], a.ref(), "it is found by its tag")
			require.Len(t, a.cluster.Refs(), 1)
		}
	}
}

// Pins two servers that serve as one deployment. The first one that is confirmed is kept; the other one is told to end.
func TestTheFirstConfirmedRefWins(t *testing.T) {
	t.Parallel()
	a := allocate(t, false)
	a.works.elapse(time.Minute)
	a.cluster.QueueFaults("allocate", agonestest.LoseAnswer)
	a.step(a.provisioner)
	require.Len(t, a.cluster.Refs(), 2, "nothing has named the first one in time")
	first, second := a.cluster.Refs()[0], a.cluster.Refs()[1]
	require.NoError(t, a.claim(second))
	a.until(a.provisioner, a.id, "ready")
	var refused *fault.Error
	require.ErrorAs(t, a.claim(first), &refused)
	require.Equal(t, "deployment_over", refused.Code)
	require.Equal(t, second, a.ref())
	require.Equal(t, "ready", a.phase(a.id))
	require.NoError(t, a.claim(second), "the one that is kept may register again")
}

// Pins a deployment that is ready with the server of another ref: players would dial what does not run it.
func TestAServerOfAnotherRefIsNotMadeReady(t *testing.T) {
	t.Parallel()
	a := allocate(t, false)
	require.NoError(t, a.claim(a.cluster.Refs()[0]))
	a.works.Exec("UPDATE deployments SET ref = 'other/'||tag, phase = 'starting', next_at = $1", a.works.Now())
	a.let(10*time.Second, a.provisioner)
	require.Equal(t, "starting", a.phase(a.id))
}
