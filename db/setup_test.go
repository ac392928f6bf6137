package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// bundle is a database of a test's own, with a store on it.
type bundle struct {
	*storetest.DB
	t *testing.T
}

func setup(t *testing.T, change ...func(*db.Config)) *bundle {
	t.Helper()
	return &bundle{storetest.New(t, change...), t}
}

func one[T any](b *bundle, sql string, args ...any) T {
	b.t.Helper()
	return storetest.One[T](b.DB, sql, args...)
}

// withoutDeadlockCheck opens a replica on a database in which Postgres resolves no deadlock within the time of a test.
func (b *bundle) withoutDeadlockCheck() *db.Store {
	b.t.Helper()
	b.Exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''1h''', current_database()); END $$")
	return b.Replica()
}

// ageHeartbeat moves the last heartbeat of an instance back by d.
func (b *bundle) ageHeartbeat(id string, d time.Duration) {
	b.t.Helper()
	b.Exec("UPDATE instance_leases SET heartbeat_at = heartbeat_at - $2::interval WHERE instance_id = $1", id, d)
}

func request(caller string, maxPlayers int, friends ...string) db.PlaceRequest {
	return db.PlaceRequest{Caller: caller, Region: "eu", Mode: "duel", Party: append([]string{caller}, friends...),
		MaxPlayers: maxPlayers}
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
		res := b.report(db.SeatReport{InstanceRef: ref(instance), SessionID: p.SessionID,
			JoinedPlayers: []db.Joined{{PlayerSub: sub, JTI: "jti-" + sub + p.SessionID}}})
		require.Equal(b.t, db.SeatOK, res.Outcomes[0].Result)
	}
}

func ref(id string) db.InstanceRef { return db.InstanceRef{InstanceID: id} }

func refOf(r db.Registered) db.InstanceRef {
	return db.InstanceRef{InstanceID: r.InstanceID, Incarnation: &r.Incarnation}
}

func subs(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("player-%04d", i)
	}
	return out
}

// requireKind requires an error of a kind with a code.
func requireKind(t require.TestingT, want fault.Kind, code string, err error) {
	_ = requireCode(t, want, code, err)
}

// requireCode is requireKind, and returns the error.
func requireCode(t require.TestingT, want fault.Kind, code string, err error) *fault.Error {
	e := requireFault(t, want, err)
	require.Equal(t, code, e.Code)
	return e
}

// requireFault requires an error of a kind, and returns it.
func requireFault(t require.TestingT, want fault.Kind, err error) (e *fault.Error) {
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Kind, "%v", err)
	return e
}
