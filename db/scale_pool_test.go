package db_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func sealTest(region string, id uuid.UUID) ([]byte, string, error) {
	return []byte(region + id.String()), "kek", nil
}

// scale plans the pools of region eu, whenever they were planned last.
func (b *bundle) scale() provision.Scaled {
	b.t.Helper()
	b.Exec("UPDATE pools SET planned_at = '-infinity'")
	return must.Get(b.PlanPools(b.t.Context(), "eu", time.Minute, sealTest))(b.t)
}

func (b *bundle) plan() (p struct {
	Live, Busy, Coming, Waiting, Used, Target, Start, Surplus int
	Text                                                      string
}) {
	b.t.Helper()
	require.NoError(b.t, json.Unmarshal(one[[]byte](b, "SELECT last_plan FROM pools"), &p))
	return p
}

// ready makes n deployments that want no more steps ready, with instances whose servers are empty.
func (b *bundle) ready(n int) (ids []string) {
	b.t.Helper()
	for range n {
		id := uuid.New()
		b.AddDeployment(id, nil)
		ids = append(ids, id.String())
	}
	b.join()
	return ids
}

// join makes all deployments ready that are not.
func (b *bundle) join() {
	b.t.Helper()
	for _, id := range storetest.Values[string](b.DB,
		"SELECT id::text FROM deployments WHERE phase <> 'ready' ORDER BY id") {
		b.AddServer(id, 8)
		b.Exec(`UPDATE deployments SET phase = 'ready', endpoint = 'x', incarnation = gen_random_uuid(), ready_at = now(), next_at = NULL WHERE id = $1`, id)
		b.Exec("UPDATE instances SET deployment_id = $1::uuid WHERE id = $1::text", id)
	}
}

func TestPlayersWhoWaitGetServers(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	require.Equal(t, provision.Scaled{PlannedPools: 1}, b.scale())
	for i := range 20 {
		_ = b.refusal(waits(request(fmt.Sprint("p", i), 8)))
	}
	_ = b.refusal(waits(request("p3", 8, "p4", "p5")))
	_ = b.refusal(waits(request("p4", 8, "p3", "p5")))
	_ = b.refusal(waits(request("p5", 8, "p4", "p3"))) // the same party, three times: 20 players
	require.Equal(t, provision.Scaled{PlannedPools: 1, StartedServers: 3}, b.scale())
	require.Equal(t, 3, one[int](b, "SELECT count(*) FROM deployments WHERE phase = 'wanted' AND origin = 'pool' AND netcode_key IS NULL AND next_at <= now()"))
	require.Equal(t, 3, one[int](b, "SELECT count(*) FROM events WHERE kind = 'deployment.wanted'"))
	require.Equal(t, provision.Scaled{PlannedPools: 1}, b.scale(), "those that start are enough")
	require.Equal(t, 3, b.plan().Coming)
	require.Equal(t, 3, b.refusal(waits(request("p1", 8))).Outlook.Starting)

	b.join()
	b.place(request("p3", 8, "p4", "p5"))
	for i := range 20 {
		b.place(request(fmt.Sprint("p", i), 8))
	}
	require.Zero(t, b.demand())
	require.Equal(t, provision.Scaled{PlannedPools: 1}, b.scale())
	require.Equal(t, "3 live servers, 3 of them with players; 0 starting; 0 parties waiting. Used 3 + buffer 0 = 3: nothing to do", b.plan().Text)
}

func TestMatchesOfTheLoopGetServers(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	require.NoError(t, b.PutDemand(t.Context(), "global", []string{"duels"},
		[]db.Demand{{Region: "eu", Mode: "duel", Key: "duels/4/global", MatchCount: 5, PlayerCount: 15}}))
	require.Equal(t, 3, b.scale().StartedServers, "two sessions of four fit a server of eight")
}

func TestKeysAreSealedForTheirDeployment(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE app_versions SET dialect = 'netcode102', protocol_id = '80085'")
	b.Exec("UPDATE pools SET min_servers = 2")
	require.Equal(t, 2, b.scale().StartedServers)
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM deployments WHERE netcode_key = convert_to('eu' || id, 'UTF8') AND sealed_by = 'kek'"))
}

// Pins two workers that both start the servers that are missing.
func TestWorkersDoNotStartServersTwice(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET min_servers = 7, buffer = 2")
	stores := []*db.Store{b.Store, b.Replica(), b.Replica()}
	var workers sync.WaitGroup
	for _, s := range stores {
		workers.Go(func() {
			for range 50 {
				_, _ = s.PlanPools(t.Context(), "eu", time.Microsecond, sealTest)
			}
		})
	}
	workers.Wait()
	require.Equal(t, 7, one[int](b, "SELECT count(*) FROM deployments"))
}

func TestAPoolPlansOnceInAWhile(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	for _, want := range []int{1, 0} {
		done, err := b.PlanPools(t.Context(), "eu", time.Minute, sealTest)
		require.NoError(t, err)
		require.Equal(t, want, done.PlannedPools)
	}
}

func TestServersThatDoNotCount(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET min_servers = 1, max_servers = 5") // with room beside the one that does not count
	for _, change := range []string{
		"UPDATE deployments SET lost_at = now()",
		"UPDATE deployments SET lost_at = NULL, drain_at = now()",
		"UPDATE deployments SET drain_at = NULL; UPDATE instances SET status = 'draining'",
		"UPDATE instances SET status = 'ready'; UPDATE deployments SET desired = 'stopped'",
	} {
		b.ready(1)
		require.Zero(t, b.scale().StartedServers, "the ready one is enough: "+change)
		_, err := b.Pool().Exec(t.Context(), change, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
		require.Equal(t, 1, b.scale().StartedServers, change)
		b.Exec("DELETE FROM instances")
		b.Exec("DELETE FROM deployments")
	}
}

// surplusSettles makes the surplus last long enough, and the servers empty for long enough.
func (b *bundle) surplusSettles() {
	b.t.Helper()
	b.scale()
	b.Exec("UPDATE pools SET surplus_since = surplus_since - interval '31 seconds'")
	b.Exec("UPDATE deployments SET ready_at = ready_at - interval '6 minutes'")
	b.Exec("UPDATE instances SET emptied_at = emptied_at - interval '6 minutes'")
}

func TestServersThatNobodyNeedsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET buffer = 1")
	b.ready(4)
	p := b.place(request("ann", 8)) // the placement chooses one of four equal servers
	ids := one[[]uuid.UUID](b, `SELECT array_agg(d.id) FROM deployments d JOIN instances i ON i.deployment_id = d.id WHERE i.open_sessions = 0`)
	require.Len(t, ids, 3)
	b.Exec("UPDATE deployments SET ends_at = now() + interval '1 hour', origin = 'operator' WHERE id = $1", ids[0])
	b.Exec("UPDATE deployments SET ends_at = now() + interval '2 hours' WHERE id = $1", ids[1])
	b.Exec("UPDATE deployments SET ends_at = now() + interval '3 hours' WHERE id <> ALL ($1::uuid[])", ids[:2])
	require.Zero(t, b.scale().EndedServers, "the surplus is new")
	b.surplusSettles()
	b.Exec("UPDATE pools SET empty_ttl = '7 minutes'")
	require.Zero(t, b.scale().EndedServers, "the servers have not been empty for long enough")
	b.Exec("UPDATE pools SET empty_ttl = '5 minutes'")
	require.Equal(t, 2, b.scale().EndedServers)
	require.Zero(t, b.scale().EndedServers)
	require.Equal(t, 1, one[int](b, "SELECT count(*) FROM deployments WHERE desired = 'running' AND id = $1", ids[0]),
		"operators end what they started")
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM deployments WHERE desired = 'stopped' AND reason = 'surplus' AND next_at <= now()"))
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM instances WHERE status = 'draining' AND open_sessions = 0"))

	b.Exec("SELECT ops.close_session($1, 'test')", p.SessionID)
	require.True(t, one[bool](b, "SELECT emptied_at > now() - interval '1 minute' FROM instances WHERE emptied_at IS NOT NULL"))
	b.Exec("UPDATE pools SET buffer = 0, surplus_since = now() - interval '1 minute'")
	require.Zero(t, b.scale().EndedServers, "it became empty just now")
}

// A stop and a reservation of the same server: one of the two wins, and nobody sits on a server that ends.
func TestSurplusAgainstReservations(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET max_servers = 100")
	b.ready(40)
	b.surplusSettles()
	replicas := []*db.Store{b.Replica(), b.Replica()}
	var callers sync.WaitGroup
	for i := range 100 {
		callers.Go(func() {
			_, err := replicas[i%2].Place(t.Context(), request(fmt.Sprint("p", i), 8))
			if err != nil && !fault.Is(err, fault.NoCapacity) {
				t.Error(err)
			}
		})
	}
	ended := 0
	for range 5 {
		ended += b.scale().EndedServers
	}
	callers.Wait()
	require.Positive(t, ended)
	require.Zero(t, one[int](b, "SELECT count(*) FROM sessions s JOIN instances i ON i.id = s.instance_id WHERE i.status <> 'ready'"))
	require.Equal(t, ended, one[int](b, "SELECT count(*) FROM deployments d JOIN instances i ON i.deployment_id = d.id WHERE d.desired = 'stopped' AND i.status = 'draining'"))
	require.Equal(t, 40-ended, one[int](b,
		"SELECT count(*) FROM deployments d JOIN instances i ON i.deployment_id = d.id WHERE d.desired = 'running' AND i.status = 'ready'"))
}

// Pins matches of a region without servers that would be sent to another continent, although a pool could start servers
// for them.
func TestRegionsOfPoolsAreGameRegions(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	regions := func() []db.HostRegion {
		all, err := b.HostRegions(t.Context(), []string{"duel", "race"})
		require.NoError(t, err)
		return all
	}
	require.Equal(t, []db.HostRegion{{Region: "eu", Mode: "duel"}}, regions())
	b.AddServer("i1", 8)
	require.Equal(t, []db.HostRegion{{Region: "eu", Mode: "duel", FreeSeats: 8, AllFreeSeats: 8}}, regions())
	b.Exec("DELETE FROM instance_modes")
	b.Exec("UPDATE pools SET max_servers = 0")
	require.Empty(t, regions())
}

// Replicas of the release before may run beside instances that start. The statements of placement are the same there.
func TestNobodyIsSeatedOnAStartingInstance(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.AddServer("i1", 8)
	b.Exec("UPDATE instances SET status = 'starting'")
	_ = b.refusal(request("ann", 8))
	_ = b.refusal(waits(request("ann", 8)))
	regions, err := b.HostRegions(t.Context(), []string{"duel"})
	require.NoError(t, err)
	require.Zero(t, regions[0].FreeSeats)
	require.Equal(t, 1, b.scale().StartedServers, "an instance that starts is no room")
	// A heartbeat, and the end of an amnesty without one, treat it as any other instance.
	_, err = b.Heartbeat(t.Context(), ref("i1"), nil)
	require.NoError(t, err)
	require.Equal(t, "starting", one[string](b, "SELECT status FROM instances"))
	b.EndAmnesty()
	b.ageHeartbeat("i1", time.Minute)
	_, _, err = b.ReapInstances(t.Context(), "eu", 10)
	require.NoError(t, err)
	require.Equal(t, "gone", one[string](b, "SELECT status FROM instances"))
}

// Pins empty servers that never ended: a provider that had no room for more refused those that were coming, and none
// ends while some come.
func TestRefusedServersDoNotKeepTheSurplus(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.ready(2)
	b.Exec("UPDATE pools SET min_servers = 5")
	require.Equal(t, 3, b.scale().StartedServers)
	b.Exec("UPDATE deployments SET phase = 'deploying', intent_at = now() WHERE id = (SELECT id FROM deployments WHERE phase = 'wanted' LIMIT 1)")
	b.Exec("UPDATE pools SET min_servers = 0")
	require.Zero(t, b.scale().EndedServers, "they have only just been asked for")
	b.Exec("UPDATE deployments SET created_at = now() - interval '31 seconds'")
	require.Equal(t, 2, b.scale().EndedServers)
	require.Equal(t, 2, one[int](b, "SELECT count(*) FROM deployments WHERE desired = 'stopped' AND phase = 'wanted' AND reason = 'surplus' AND next_at <= now()"))
	require.Zero(t, b.scale().EndedServers, "the one that may have been started counts until that is known")
	b.Exec("DELETE FROM deployments WHERE phase = 'deploying'")
	b.surplusSettles()
	require.Equal(t, 2, b.scale().EndedServers)
}
