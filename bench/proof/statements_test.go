package proof

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// The tests of this file run what experiments do besides loads.

// setup is a database and a testbed on it.
func setup(t *testing.T) (*storetest.DB, *testbed) {
	t.Helper()
	d := storetest.New(t)
	return d, &testbed{pool: d.Pool()}
}

// Pins an installation that the director could never create, calls that fill prefilled sessions instead of opening new
// ones, and a run that meets the rows of another.
func TestPrefilled(t *testing.T) {
	t.Parallel()
	d, b := setup(t)
	require.NoError(t, b.prefill(t.Context(), installation{sessions: 204, pastSeats: 480, hosts: 3}))
	sizes := func() []int {
		return []int{d.Count("SELECT count(*) FROM sessions"), d.Count("SELECT sum(player_count) FROM sessions"),
			d.Count("SELECT count(*) FROM seats")}
	}
	before := sizes()
	require.Equal(t, 204, before[0])
	require.Equal(t, before[1], before[2])
	require.Equal(t, 480, d.Count("SELECT count(*) FROM seat_history"))
	require.Equal(t, 60, d.Count("SELECT count(*) FROM session_history"))
	require.Zero(t, d.Count("SELECT count(*) FROM seat_history_default"))
	require.Positive(t, d.Count("SELECT count(*) FROM sessions WHERE player_count < max_players"))
	require.Zero(t, d.Count("SELECT sum(violations) FROM ops.invariants"))

	for _, sub := range []string{"ann", "bob"} {
		_, err := d.Place(t.Context(), db.PlaceRequest{Caller: sub, Party: []string{sub}, Region: prefilledRegion,
			Mode: "bench-0", MaxPlayers: 8})
		require.NoError(t, err)
	}
	require.Equal(t, 1, d.Count("SELECT count(*) FROM sessions WHERE instance_id LIKE 'planted-%' AND player_count = 2"))
	require.NoError(t, b.deleteRun(t.Context(), nil))
	require.Equal(t, before, sizes())
	require.Zero(t, d.Count("SELECT sum(violations) FROM ops.invariants"))
}

// Pins a view that is not read, or that fails and looks fast.
func TestStopwatchOfViews(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), dbtest.New(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	views, err := viewsOf(t.Context(), conn)
	require.NoError(t, err)
	require.Greater(t, len(views), 15)
	for view, statement := range views {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, view)
	}
}

// Pins a replica that answers no probe under overload, which no finding reports.
func TestProbes(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	replica := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != probedPaths[0] {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer replica.Close()
	var probes stopwatch
	_, err := arm{run: func(context.Context) (bench.Result, error) {
		for asked.Load() < 6 {
			<-time.After(time.Millisecond)
		}
		return bench.Result{}, nil
	}}.beside(probe(replica.URL, &probes)).run(t.Context())
	require.NoError(t, err)
	values := map[string]float64{}
	probes.addValues(values)
	require.GreaterOrEqual(t, values["/healthz times"], 2.0)
	require.Positive(t, values["/healthz p99"])
	require.NotContains(t, values, "/.well-known/jwks.json p99")
	require.GreaterOrEqual(t, values["unanswered"], 2.0)
}

// Pins sessions that are counted for another run or not at all, and the last session of each shape counted as badly
// filled.
func TestSessionCounts(t *testing.T) {
	t.Parallel()
	d, b := setup(t)
	d.Exec(`INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling)
	      VALUES ('bench-one-0', 'i', gen_random_uuid(), 'x:1', '{duel}', 100, 100), ('bench-one-10', 'i', gen_random_uuid(), 'x:1', '{duel}', 100, 100)`)
	// One shape has two sessions that are not full, one of them still open; the other shape has two full ones; the
	// third session belongs to another run.
	d.Exec(`INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players)
	      VALUES ('bench-one-0', gen_random_uuid(), 'a', 'duel', 'i', gen_random_uuid(), 3, 8)`)
	d.Exec(`INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, reason)
	      SELECT r.region, gen_random_uuid(), 'h', 'duel', 'i', gen_random_uuid(), r.players, r.size, now(), 'test'
	      FROM (VALUES ('bench-one-0', 8, 8), ('bench-one-0', 8, 8), ('bench-one-0', 1, 8), ('bench-one-10', 4, 4), ('bench-one-10', 4, 4),
	                   ('bench-onetwo-0', 1, 8)) r(region, players, size)`)
	r := bench.Result{Run: "one", Values: map[string]float64{}}
	require.NoError(t, b.countSessions(t.Context(), &r))
	require.Equal(t, map[string]float64{"opened": 6, "full": 0.8, "fewest": 5}, r.Values)

	good := bench.Result{Values: map[string]float64{"opened": 100, "full": 0.99, "fewest": 100}}
	measured, missed := judge(packingClaims(Options{}), round{matchmake: r}, round{matchmake: good}, round{matchmake: good})
	require.Equal(t, []string{"99.0 %", "1.00 ×"}, measured)
	require.Empty(t, missed)
	_, missed = judge(packingClaims(Options{}), round{matchmake: r})
	require.Equal(t, []int{0, 1}, missed)
}

// Pins players or servers that are counted twice or not at all, and a dead server that is found before it is.
func TestProvisionStatements(t *testing.T) {
	t.Parallel()
	d, b := setup(t)
	require.NoError(t, b.sql(t.Context(), "provision_pool.sql", serverCapacity, poolBuffer))
	require.NoError(t, b.sql(t.Context(), "provision_servers.sql", 3, serverCapacity))
	d.Exec(`UPDATE deployments SET created_at = now() - interval '2 seconds'`)
	d.Exec(`INSERT INTO sessions (region, id, handle, mode, instance_id, incarnation, player_count, max_players)
	      SELECT region, gen_random_uuid(), 'h' || tag, 'bench', id::text, incarnation, 1, 8 FROM deployments`)
	d.Exec(`INSERT INTO seats (region, session_id, sub, mode, party, reserved_by, expires_at, reserved_at)
	      SELECT s.region, s.id, s.handle, 'bench', s.id, s.handle, now(), d.ready_at + interval '0.1 seconds' FROM sessions s JOIN deployments d ON d.id::text = s.instance_id`)
	seated, err := b.valuesOf(t.Context(), "provision_seated.sql")
	require.NoError(t, err)
	require.Equal(t, []float64{3, 3}, []float64{seated["players"], seated["servers"]})
	require.InDelta(t, 100, seated["wait p99"], 0.01)
	require.InDelta(t, 2000, seated["first server"], 1000)

	require.NoError(t, b.sql(t.Context(), "provision_dies.sql"))
	lost, err := rowsOf[lostServer](t.Context(), b.pool, "provision_found.sql")
	require.NoError(t, err)
	require.Empty(t, lost)
	d.Exec(`INSERT INTO events (region, kind, instance_id, at) SELECT region, 'instance.ended', instance_id, at + interval '16 seconds' FROM bench_died`)
	lost, err = rowsOf[lostServer](t.Context(), b.pool, "provision_found.sql")
	require.NoError(t, err)
	require.InDelta(t, 1, lost[0].Delay, 0.01)
}

// Pins statements that no longer fit the schema, and a wait for rows that never ends.
func TestAwaitedRows(t *testing.T) {
	t.Parallel()
	d, b := setup(t)
	require.NoError(t, b.sql(t.Context(), "waiting_pool.sql", prefilledRegion))
	for _, file := range []string{"waiting_demand.sql", "match_waiting.sql", "rooms_sessions.sql"} {
		require.NoError(t, b.await(time.Minute, file)(t.Context()), file)
	}
	d.Exec(`INSERT INTO demand (region, mode, key, matches, players) VALUES ('r', 'bench-waits', 'ann', 1, 1)`)
	require.ErrorContains(t, b.await(time.Millisecond, "waiting_demand.sql")(t.Context()),
		"waiting_demand.sql shows no end within 1ms")
	for _, file := range []string{"match_takeover_clean.sql", "openmatch_clean.sql", "launch_none.sql",
		"launch_open.sql", "launch_room.sql", "launch_rush.sql"} {
		require.NoError(t, b.sql(t.Context(), file), file)
	}
	require.NoError(t, b.sql(t.Context(), "launch_crowd.sql", 0, 9))
	require.Positive(t, d.Count("SELECT waiting FROM login_queues"),
		"fewer than 10: a valve of 100 a second admits some")
}

// Pins heartbeats twice for one server and never for another, or with wrong incarnations.
func TestSender(t *testing.T) {
	t.Parallel()
	d, b := setup(t)
	require.NoError(t, b.sql(t.Context(), "fleet_instances.sql", "eu", 50))
	members, err := rowsOf[member](t.Context(), b.pool, "fleet_members.sql")
	require.NoError(t, err)
	require.Len(t, members, 50)
	members[7].Incarnation = uuid.New() // as of an instance that was replaced
	s := &sender{store: d.Store, members: members}
	r, err := bench.Run(t.Context(), bench.Options{
		Scenario: bench.Scenario{Name: onStore, Begin: bench.Turns(s.send)}, URLs: []string{"none"},
		Duration: time.Hour,
		Load:     bench.Load{Callers: 100, Turns: 100},
	})
	require.NoError(t, err)
	require.EqualValues(t, 100, r.Calls)
	require.Equal(t, map[string]int64{"superseded": 2}, r.Errors)
	var sizes tableSamples
	require.NoError(t, sizes.sample(b)(t.Context()))
	require.Len(t, sizes[0], 2)
}

// Pins a decision that is made about nobody.
func TestDecidedCrowd(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse(fmt.Appendf(nil, decidedProfile, 5, 5))
	require.NoError(t, err)
	e := decide.New(decide.Version{Profile: p, Number: 1}, 1)
	for _, ticket := range normalCrowd(1_000) {
		e.Add(ticket)
	}
	matches, isDone := e.Run(crowdBegins.Add(time.Minute), math.MaxInt)
	require.True(t, isDone)
	require.Greater(t, len(matches), 90)
}
