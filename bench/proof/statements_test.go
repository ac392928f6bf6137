package proof

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/storetest"
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
	require.NoError(t, b.sql(t.Context(), "growth_clean.sql"))
	require.Equal(t, before, sizes())
	require.Zero(t, d.Count("SELECT sum(violations) FROM ops.invariants"))
}

// Pins a view that is not read, or that fails and looks fast.
func TestViewsBesideAnArm(t *testing.T) {
	t.Parallel()
	_, b := setup(t)
	views, err := b.views(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(views), 15)
	r := besideArm(t, func(ctx context.Context, a arm) arm {
		a, err := b.watch(ctx, a)
		require.NoError(t, err)
		return a
	})
	require.NoError(t, b.closers[0]())
	for _, view := range views {
		require.Positive(t, r.Values[view+" p50"], view)
	}
	require.Zero(t, r.Values["failed beside"])
}

// Pins a replica that answers no probe under overload, which no finding reports.
func TestProbes(t *testing.T) {
	t.Parallel()
	probes := []string{"/healthz", "/.well-known/jwks.json"}
	r := besideArm(t, func(ctx context.Context, a arm) arm {
		return a.callBeside(ctx, time.Millisecond, probes, func(_ context.Context, path string) error {
			if path == probes[0] {
				return bench.Pause(ctx, 3*time.Millisecond)
			}
			return errors.New("503")
		})
	})
	require.GreaterOrEqual(t, r.Values["/healthz p99"], 3.0)
	require.NotContains(t, r.Values, "/.well-known/jwks.json p99")
	require.GreaterOrEqual(t, r.Values["failed beside"], 2.0)
}

// besideArm is the result of a short load with something beside it.
func besideArm(t *testing.T, with func(ctx context.Context, a arm) arm) bench.Result {
	t.Helper()
	load := bench.Options{
		Scenario: bench.Scenario{Name: "pause", Begin: bench.Turns(func(ctx context.Context, _ *bench.Caller) error {
			return bench.Pause(ctx, 10*time.Millisecond)
		})},
		URLs: []string{"none"}, Load: bench.Load{Callers: 1}, Duration: 200 * time.Millisecond,
	}
	_, b := setup(t)
	b.lab = &lab.Lab{} // without credentials
	r, err := with(t.Context(), side{bed: b, urls: load.URLs}.arm("pause", load)).measure(t.Context())
	require.NoError(t, err)
	return r
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
	measured, missed := judge(packing.claims[2:], round{matchmake: r}, round{matchmake: good}, round{matchmake: good})
	require.Equal(t, []string{"99.0 %", "1.00 ×"}, measured)
	require.Empty(t, missed)
	_, missed = judge(packing.claims[2:], round{matchmake: r})
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
	seated, err := b.valuesOf(t.Context(), time.Minute, "provision_seated.sql")
	require.NoError(t, err)
	require.Equal(t, []float64{3, 3}, []float64{seated["players"], seated["servers"]})
	require.InDelta(t, 100, seated["wait p99"], 0.01)
	require.InDelta(t, 2000, seated["first server"], 1000)

	require.NoError(t, b.sql(t.Context(), "provision_dies.sql"))
	require.ErrorContains(t, b.await(time.Millisecond, "provision_found.sql")(t.Context()), "no end within")
	d.Exec(`INSERT INTO events (region, kind, instance_id, at) SELECT region, 'instance.ended', instance_id, at + interval '16 seconds' FROM bench_died`)
	lost, err := b.valuesOf(t.Context(), time.Minute, "provision_found.sql")
	require.NoError(t, err)
	require.InDelta(t, 1, lost["found after"], 0.01)
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
	for _, file := range []string{"openmatch_clean.sql", "launch_none.sql", "launch_open.sql", "launch_room.sql",
		"launch_rush.sql"} {
		require.NoError(t, b.sql(t.Context(), file), file)
	}
	require.NoError(t, b.sql(t.Context(), "launch_crowd.sql", 0, 9))
	require.Positive(t, d.Count("SELECT waiting FROM login_queues"),
		"fewer than 10: a valve of 100 a second admits some")
}

// Pins heartbeats twice for one server and never for another, or with wrong incarnations, and tables that are compared
// with a wrong sample.
func TestSender(t *testing.T) {
	t.Parallel()
	d, b := setup(t)
	require.NoError(t, b.sql(t.Context(), "fleet_instances.sql", "eu", 50, incarnation.String()))
	// an instance that was replaced
	d.Exec("UPDATE instances SET incarnation = gen_random_uuid() WHERE id = 'fleet-7'")
	d.Exec("UPDATE instance_directory SET incarnation = gen_random_uuid() WHERE instance_id = 'fleet-7'")
	d.Exec("UPDATE instance_leases SET incarnation = gen_random_uuid() WHERE instance_id = 'fleet-7'")
	s := &sender{store: d.Store, members: 50}
	r, err := bench.Run(t.Context(), bench.Options{
		Scenario: bench.Scenario{Name: onStore, Begin: bench.Turns(s.send)}, URLs: []string{"none"},
		Duration: time.Hour,
		Load:     bench.Load{Callers: 100, Turns: 100},
	})
	require.NoError(t, err)
	require.EqualValues(t, 100, r.Calls)
	require.Equal(t, map[string]int64{"superseded": 2}, r.Errors)
	for range 3 {
		require.NoError(t, b.sql(t.Context(), "fleet_sample.sql"))
	}
	d.Exec(`UPDATE bench_tables SET updates = (number - 1) / 2 * 1000, hot = (number - 1) / 2 * 990, bytes = 100 + (number - 1) / 2 * 100`)
	tables, err := b.valuesOf(t.Context(), time.Minute, "fleet_tables.sql")
	require.NoError(t, err)
	for _, name := range []string{"instance_leases", "instance_modes"} {
		require.Equal(t, []float64{0.99, 1.5, 300},
			[]float64{tables[name+" hot"], tables[name+" growth"], tables[name+" bytes"]})
	}
}
