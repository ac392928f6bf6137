package db_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// bundle is a database of a test's own, with a store on it.
type bundle struct {
	*db.Store
	t   *testing.T
	url string
}

func setup(t *testing.T, change ...func(*db.Config)) *bundle {
	t.Helper()
	b := &bundle{t: t, url: dbtest.New(t)}
	b.Store = b.replica(change...)
	return b
}

// replica opens another store on the same database, as another pod would.
func (b *bundle) replica(change ...func(*db.Config)) *db.Store {
	b.t.Helper()
	return storetest.Open(b.t, b.url, change...)
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	must.Get(b.Pool().Exec(b.t.Context(), sql, args...))(b.t)
}

func one[T any](b *bundle, sql string, args ...any) (v T) {
	b.t.Helper()
	require.NoError(b.t, b.Pool().QueryRow(b.t.Context(), sql, args...).Scan(&v))
	return v
}

// waitBlocked waits until n connections wait for locks of other connections.
func (b *bundle) waitBlocked(n int) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		return one[int](b, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pg_blocking_pids(pid) <> '{}'") == n
	}, 30*time.Second, 5*time.Millisecond)
}

// withoutDeadlockCheck opens a replica on a database in which Postgres resolves no deadlock within the time of a test.
func (b *bundle) withoutDeadlockCheck() *db.Store {
	b.t.Helper()
	b.exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''1h''', current_database()); END $$")
	return b.replica()
}

// endAmnesty ends the amnesty of a new database, as after an hour in which heartbeats could be received.
func (b *bundle) endAmnesty() {
	b.t.Helper()
	b.exec("UPDATE fleet_clock SET pulse_at = now(), steady_since = now() - interval '1 hour'")
}

// ageHeartbeat moves the last heartbeat of an instance back by d.
func (b *bundle) ageHeartbeat(id string, d time.Duration) {
	b.t.Helper()
	b.exec("UPDATE instance_leases SET heartbeat_at = heartbeat_at - $2::interval WHERE instance_id = $1", id, d)
}

func (b *bundle) register(id string, capacity int, change ...func(*db.Registration)) db.Registered {
	b.t.Helper()
	r := db.Registration{InstanceID: id, Endpoint: id + ":7777", Region: "eu", Modes: []string{"duel"}, Capacity: capacity, BootID: "boot-1"}
	for _, c := range change {
		c(&r)
	}
	return must.Get(b.Register(b.t.Context(), r))(b.t)
}

func request(caller string, maxPlayers int, friends ...string) db.PlaceRequest {
	return db.PlaceRequest{Caller: caller, Region: "eu", Mode: "duel", Party: append([]string{caller}, friends...), MaxPlayers: maxPlayers}
}

func (b *bundle) place(r db.PlaceRequest) db.Placement {
	b.t.Helper()
	return must.Get(b.Place(b.t.Context(), r))(b.t)
}

func (b *bundle) resolve(p db.Placement, sub string) db.Resolved {
	b.t.Helper()
	return must.Get(b.Resolve(b.t.Context(), p.SessionHandle, sub))(b.t)
}

func (b *bundle) report(r db.SeatReport) db.SeatReportResult {
	b.t.Helper()
	return must.Get(b.ReportSeats(b.t.Context(), r))(b.t)
}

// connect resolves and reports players, as they and their game server do.
func (b *bundle) connect(instance string, p db.Placement, subs ...string) {
	b.t.Helper()
	for _, sub := range subs {
		b.resolve(p, sub)
		res := b.report(db.SeatReport{Ref: ref(instance), SessionID: p.SessionID, Joined: []db.Joined{{Sub: sub, JTI: "jti-" + sub + p.SessionID}}})
		require.Equal(b.t, db.SeatOK, res.Outcomes[0].Result)
	}
}

func ref(id string) db.InstanceRef { return db.InstanceRef{InstanceID: id} }

func refOf(r db.Registered) db.InstanceRef {
	return db.InstanceRef{InstanceID: r.InstanceID, Incarnation: &r.Incarnation}
}

func requireKind(t *testing.T, want fault.Kind, code string, err error) {
	t.Helper()
	var e *fault.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Kind, "%v", err)
	require.Equal(t, code, e.Code)
}

// requireInvariants requires that no invariant view has rows.
func (b *bundle) requireInvariants() {
	b.t.Helper()
	rows := must.Get(b.Pool().Query(context.WithoutCancel(b.t.Context()), "SELECT name, violations FROM ops.invariants WHERE violations > 0"))(b.t)
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int64
		require.NoError(b.t, rows.Scan(&name, &n))
		b.t.Errorf("invariant %s: %d violations", name, n)
	}
	require.NoError(b.t, rows.Err())
}

func subs(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("player-%04d", i)
	}
	return out
}
