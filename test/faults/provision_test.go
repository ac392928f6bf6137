package faults

import (
	"math/rand/v2"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
)

// edgegapRig is an installation whose workers deploy at a fake of Edgegap.
type edgegapRig struct {
	*rig
	fake  *edgegaptest.Fake
	store *db.Store
}

func newEdgegapRig(t *testing.T, settings ...string) *edgegapRig {
	t.Helper()
	fake := edgegaptest.New(edgegaptest.Options{StartAfter: 300 * time.Millisecond,
		Rates: provider.Rates{Deploy: 40, Get: 20, List: 10}, PageSize: 50})
	srv := httptest.NewServer(fake)
	t.Cleanup(srv.Close)
	t.Cleanup(fake.Close)
	r := &edgegapRig{fake: fake, rig: newRig(t, append(settings,
		"DIRECTOR_PROVIDERS=edgegap", "DIRECTOR_PROVISION_OWNER=faults", "DIRECTOR_PUBLIC_URL=http://127.0.0.1:9",
		"DIRECTOR_PROVISION_TIMEOUT=2s",
		"DIRECTOR_EDGEGAP_TOKEN=edgegap-test-key", "DIRECTOR_EDGEGAP_URL="+srv.URL)...)}
	r.ExecSQL(`INSERT INTO app_versions (app, version, provider, launch, launch_version, ports, game_port, modes, capacity, max_players, register_within)
	        VALUES ('arena', '1.0', 'edgegap', 'arena', '1.0', '[{"name": "game", "internal": 5000, "protocol": "udp"}]', 'game', '{duel}', 8, 8, '1 hour')`)
	r.ExecSQL("INSERT INTO pools (region, app, version, max_servers, latitude, longitude) VALUES ('eu', 'arena', '1.0', 0, 50, 8)")
	r.store = storetest.Open(t, r.Cluster.URL("postgres"))
	return r
}

// loseAnswers makes 30 % of the next calls fail, half of them after they were executed.
func (r *edgegapRig) loseAnswers(calls int) {
	random := rand.New(rand.NewPCG(3, 5))
	for _, op := range []string{"deploy", "get", "list", "stop"} {
		faults := make([]edgegaptest.Fault, calls)
		for i := range faults {
			switch n := random.IntN(100); {
			case n < 15:
				faults[i] = edgegaptest.LoseAnswer
			case n < 30:
				faults[i] = edgegaptest.CutBefore
			}
		}
		r.fake.QueueFaults(op, faults...)
	}
}

// joinAll registers the servers of all deployments that run, as their processes do.
func (r *edgegapRig) joinAll() {
	r.T.Helper()
	for _, text := range one[[]string](r.rig,
		"SELECT coalesce(array_agg(id::text), '{}') FROM deployments WHERE phase = 'starting' AND registered_at IS NULL") {
		id := uuid.MustParse(text)
		must.Get(r.store.Register(r.T.Context(), db.Registration{
			InstanceID: text, Region: "eu", Modes: []string{"duel"}, Capacity: 8, BootID: "boot",
			Joining: &provision.Joining{Region: "eu", ID: id, TokenBy: "aa"},
		}))(r.T)
	}
}

// Two workers, one of which is killed each second, and 30 % of the provider's answers are lost: each deployment gets
// one server, what runs at the provider is what the rows say, and the calls stay within the provider's limits.
func TestKilledWorkersStartEachServerOnce(t *testing.T) {
	t.Parallel()
	servers, kills := longtest.Pick(12, 200), longtest.Pick(3, 15)
	r := newEdgegapRig(t)
	// After a Deploy without an answer, workers look for its server in lists for half a minute: in a short run only a few
	// calls fail.
	r.loseAnswers(longtest.Pick(6, 2000))
	for range servers {
		require.NoError(t, r.store.StartDeployment(t.Context(), "eu", provision.NewDeployment{
			ID: uuid.New(), App: "arena", Version: "1.0", Provider: "edgegap", Tag: provider.NewTag(),
			Origin: provision.OriginOperator,
		}))
	}
	workers := []*process{r.StartProcess("work"), r.StartProcess("work")}
	for i := range kills {
		pause(t.Context(), time.Second)
		victim := i % len(workers)
		workers[victim].Process.Kill()
		workers[victim] = r.StartProcess("work")
		r.joinAll()
	}
	r.fake.Drain()
	// Two minutes after a Deploy that was repeated, workers look for a second server. A short run does not wait for that.
	lastLook := longtest.Pick("", " AND find_at IS NULL")
	require.Eventually(t, func() bool {
		r.joinAll()
		return one[int](r.rig, "SELECT count(*)::int FROM deployments WHERE phase = 'ready'"+lastLook) == servers
	}, 6*time.Minute, time.Second)
	require.Equal(t, servers, r.fake.AliveCount())
	require.Equal(t, servers, one[int](r.rig, "SELECT count(DISTINCT ref)::int FROM deployments"))

	ids := one[[]string](r.rig, "SELECT array_agg(id::text ORDER BY find_at NULLS FIRST) FROM deployments")
	for _, id := range ids[:servers/2] {
		require.NoError(t, r.store.StopDeployment(t.Context(), "eu", uuid.MustParse(id), "enough"))
	}
	r.AwaitTrue("SELECT count(*) = $1 FROM deployment_history WHERE reason = 'enough'", servers/2)
	require.Equal(t, servers-servers/2, r.fake.AliveCount())
	calls := r.fake.Calls("deploy") + r.fake.Calls("get") + r.fake.Calls("list") + r.fake.Calls("stop")
	require.LessOrEqual(t, r.fake.Violations(), max(calls, 300)/100,
		"calls over the provider's limits: a busy machine may delay some that were granted before")
	require.Less(t, r.fake.Calls("deploy"), 2*servers)
	r.RequireInvariants()
	t.Logf("calls: deploy %d, get %d, list %d, stop %d", r.fake.Calls("deploy"), r.fake.Calls("get"),
		r.fake.Calls("list"), r.fake.Calls("stop"))
}
