package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/provision"
)

// Pins a pause that stopped the pools of all regions: only the region with the trouble is paused.
func TestAPauseIsOfOneRegion(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("INSERT INTO pools (region, app, version, max_servers) SELECT 'us', app, version, 10 FROM pools")
	b.Exec("UPDATE pools SET min_servers = 1")
	started := func() (n int) {
		t.Helper()
		b.Exec("UPDATE pools SET planned_at = '-infinity'")
		for _, region := range []string{"eu", "us"} {
			done, err := b.PlanPools(t.Context(), region, time.Minute, sealTest)
			require.NoError(t, err)
			n += done.StartedServers
		}
		b.Exec("DELETE FROM deployments")
		return n
	}
	eu := &provision.Deployment{Region: "eu", App: "arena", Version: "1"}
	for n := range 3 {
		require.Equal(t, 2, started(), "two failures are no pattern")
		paused, err := b.FailVersion(t.Context(), eu, "broken", 0)
		require.NoError(t, err)
		require.Equal(t, n == 2, paused)
	}
	require.Equal(t, 1, started())
	require.NoError(t, b.PauseWithoutCapacity(t.Context(),
		&provision.Deployment{Region: "us", App: "arena", Version: "1"}, "full"))
	require.Zero(t, started())
	b.Exec("UPDATE start_pauses SET until = now()")
	require.Equal(t, 2, started())
	for n, want := range []string{"00:02:00", "00:04:00"} {
		b.Exec("UPDATE start_pauses SET until = now()")
		paused, err := b.FailVersion(t.Context(), eu, "broken", 0)
		require.NoError(t, err)
		require.True(t, paused, n)
		require.Equal(t, want, one[string](b,
			"SELECT date_trunc('minute', until - now() + interval '30 seconds')::text FROM start_pauses WHERE cause = 'failures'"))
	}
}

// partners are the seven others of a party.
func partners(party int) (all []string) {
	for n := range 7 {
		all = append(all, fmt.Sprintf("p%d-%d", party, n+1))
	}
	return all
}

// Pins a pool that had five servers with max 1: those that drain still run, and cost money.
func TestServersThatDrainTakePlacesOfThePool(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET max_servers = 2")
	ids := b.ready(2)
	for i := range 2 {
		b.place(request(fmt.Sprint("p", i, "-0"), 8, partners(i)...)) // a server each
	}
	b.Exec("SELECT ops.drain($1)", ids[0])
	_ = b.refusal(waits(request("p2-0", 8, partners(2)...)))
	require.Zero(t, b.scale().StartedServers)
	require.Equal(t, "1 live server, 1 of them with players; 0 starting; 1 draining; 1 party waiting. Used 1 + buffer 0 = 1: nothing to do", b.plan().Text)
	b.Exec("UPDATE pools SET max_servers = 3")
	require.Equal(t, 1, b.scale().StartedServers)
}

// Pins a drained server that nobody plays on any more and that never ended.
func TestAnEmptyServerThatDrainsEnds(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET max_servers = 3, min_servers = 3")
	ids := b.ready(3)
	p := b.place(request("ann", 8))
	busy := one[string](b, "SELECT instance_id FROM sessions")
	for _, id := range ids {
		b.Exec("SELECT ops.drain($1)", id)
	}
	operators := ids[0]
	if operators == busy {
		operators = ids[1]
	}
	b.Exec("UPDATE deployments SET origin = 'operator' WHERE id = $1", operators)
	require.Equal(t, provision.Scaled{PlannedPools: 1}, b.scale(),
		"they have not been empty for empty_ttl, and take all places")
	b.Exec("UPDATE deployments SET ready_at = ready_at - interval '6 minutes'")
	require.Equal(t, provision.Scaled{PlannedPools: 1, EndedServers: 1}, b.scale())
	require.Equal(t, 1, one[int](b, "SELECT count(*) FROM deployments WHERE desired = 'stopped' AND reason = 'drained' AND next_at <= now() AND id::text NOT IN ($1, $2)", busy, operators))
	require.Equal(t, provision.Scaled{PlannedPools: 1}, b.scale(), "the one that ends takes its place until it is gone")

	b.Exec("SELECT ops.close_session($1, 'test')", p.SessionID)
	require.Zero(t, b.scale().EndedServers, "it became empty just now")
	b.Exec("UPDATE instances SET emptied_at = emptied_at - interval '6 minutes'")
	require.Equal(t, 1, b.scale().EndedServers)
	b.Exec("DELETE FROM deployments WHERE desired = 'stopped'")
	require.Equal(t, 2, b.scale().StartedServers)
}

// Pins a player who waits for a server that was never started, and a second server that is started for nobody when the
// first one is given up.
func TestALostServerIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET max_servers = 1")
	_ = b.refusal(waits(request("ann", 8)))
	require.Equal(t, 1, b.scale().StartedServers)
	b.Exec("UPDATE deployments SET phase = 'deploying', intent_at = now(), missing_since = now() - interval '4 seconds'")
	require.Zero(t, b.scale().StartedServers, "it may be listed soon")
	b.Exec("UPDATE deployments SET missing_since = now() - interval '6 seconds'")
	require.Zero(t, b.scale().StartedServers, "it counts, since it may run")
	require.Equal(t, "0 live servers, 0 of them with players; 0 starting; 1 ending, 1 of them perhaps never started; 1 party waiting. Used 0 + buffer 0 = 0: nothing to do", b.plan().Text)
	require.True(t, b.refusal(waits(request("ann", 8))).Outlook.IsFull)
	b.Exec("UPDATE pools SET max_servers = 3")
	require.Equal(t, provision.Scaled{PlannedPools: 1, StartedServers: 1}, b.scale())
	require.Equal(t, provision.Scaled{PlannedPools: 1}, b.scale())

	b.Exec("UPDATE deployments SET created_at = now() - interval '31 seconds' WHERE phase = 'deploying'")
	require.Equal(t, provision.Scaled{PlannedPools: 1, EndedServers: 1}, b.scale(), "else it would be started again")
	require.Equal(t, "deploying", one[string](b,
		"SELECT phase FROM deployments WHERE desired = 'stopped' AND reason = 'surplus' AND next_at <= now()"))
	b.Exec("UPDATE deployments SET desired = 'running', ref = 'r', phase = 'starting' WHERE phase = 'deploying'")
	b.scale()
	require.Equal(t, 2, b.plan().Coming, "it has turned up")
}

// lose lets the calls that start deployments go without an answer, so that the deployments are lost.
func (b *bundle) lose(condition string) {
	b.t.Helper()
	b.Exec("UPDATE deployments SET phase = 'deploying', intent_at = now(), missing_since = now() - interval '6 seconds' WHERE " +
		condition)
}

// Pins a plan that ended the server that is needed, since it was newer than the lost one that it replaces.
func TestALostServerIsReplacedByAServerThatStays(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET min_servers = 1")
	require.Equal(t, 1, b.scale().StartedServers)
	b.lose("true")
	require.Equal(t, 1, b.scale().StartedServers)
	b.Exec(`UPDATE deployments SET created_at = now() - CASE phase WHEN 'deploying' THEN interval '40 seconds' ELSE interval '35 seconds' END`)
	require.Equal(t, provision.Scaled{PlannedPools: 1, EndedServers: 1}, b.scale())
	require.Equal(t, []string{"deploying"}, b.Rows("SELECT phase FROM deployments WHERE desired = 'stopped'"))
}

// Pins the same where the lost server is younger than surplusSettles.
func TestAYoungLostServerEndsNoOther(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET min_servers = 1")
	require.Equal(t, 1, b.scale().StartedServers)
	b.lose("true")
	require.Equal(t, 1, b.scale().StartedServers)
	b.Exec("UPDATE deployments SET created_at = now() - interval '31 seconds' WHERE phase = 'wanted'")
	require.Equal(t, provision.Scaled{PlannedPools: 1}, b.scale())
}

// Pins a surplus that nobody ended while a server was lost that the pool does not end: an operator started it.
func TestALostServerOfAnOperatorKeepsNoSurplus(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET min_servers = 1")
	b.ready(3)
	b.AddDeployment(uuid.New(), map[string]any{"origin": "operator"})
	b.lose("origin = 'operator'")
	b.Exec("UPDATE deployments SET created_at = now() - interval '1 hour', ready_at = now() - interval '1 hour' WHERE phase = 'ready'")
	b.scale()
	b.Exec("UPDATE pools SET surplus_since = now() - interval '31 seconds'")
	require.Equal(t, provision.Scaled{PlannedPools: 1, EndedServers: 2}, b.scale())
	require.Equal(t, []string{"ready", "ready"}, b.Rows("SELECT phase FROM deployments WHERE desired = 'stopped'"))
}

// Pins a plan that ended a server that is coming in place of an operator's lost one.
func TestALostServerOfAnOperatorIsNotReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET min_servers = 1")
	require.Equal(t, 1, b.scale().StartedServers)
	b.AddDeployment(uuid.New(), map[string]any{"origin": "operator"})
	b.lose("origin = 'operator'")
	b.Exec("UPDATE deployments SET created_at = now() - interval '1 minute'")
	require.Equal(t, provision.Scaled{PlannedPools: 1}, b.scale())
	require.Equal(t, "0 live servers, 0 of them with players; 1 starting; 1 ending; 0 parties waiting. "+
		"Used 0 + buffer 0 = 0, limited to 1 by min 1 and max 10: nothing to do", b.plan().Text)
}
