package db

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/testkit/must"
)

// waitingClock makes now() of a session with the search path public, pg_catalog wait for an advisory lock: its
// statements stop after their snapshot.
const waitingClock = `
	CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM pg_advisory_xact_lock_shared(7);
		RETURN pg_catalog.now();
	END $$`

// Pins a server that ends with players on it: what changes the instance is committed after the snapshot of the
// statement that chooses servers to end, a reservation, or an operator who lets players onto it again.
func TestAServerThatGetsPlayersBehindTheSnapshotIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		choose          func(context.Context, *query.Queries) ([]uuid.UUID, error)
		before, between string // what is set of the instance
	}{
		"one too many": {func(ctx context.Context, q *query.Queries) ([]uuid.UUID, error) {
			return q.DrainEmpty(ctx, query.DrainEmptyParams{Region: "eu", App: "lone", Version: "1", EmptyTtl: time.Minute, AtMost: 10})
		}, "status = 'ready', open_sessions = 0", "open_sessions = 1"},
		"it drains": {func(ctx context.Context, q *query.Queries) ([]uuid.UUID, error) {
			return q.LockDrained(ctx, query.LockDrainedParams{Region: "eu", App: "lone", Version: "1", EmptyTtl: time.Minute, AtMost: 10})
		}, "status = 'draining', open_sessions = 0", "status = 'ready'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSnapshotRace(t)
			r.set(c.before)
			chosen := make(chan int, 1)
			go func() { chosen <- r.count(c.choose) }()
			require.Eventually(t, func() bool {
				var blocked bool
				require.NoError(t, r.other.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)").Scan(&blocked))
				return blocked
			}, 30*time.Second, time.Millisecond)
			r.set(c.between)
			r.exec("SELECT pg_advisory_unlock(7)")
			require.Zero(t, <-chosen, "somebody has a seat on it, or may have one soon")
			r.set(c.before)
			require.Equal(t, 1, r.count(c.choose), "as before")
		})
	}
}

// snapshotRace has a connection whose statements stop after their snapshot until the other one unlocks them.
type snapshotRace struct {
	t           *testing.T
	slow, other *pgx.Conn
}

func newSnapshotRace(t *testing.T) *snapshotRace {
	t.Helper()
	store := storeWith(t, deployedState+`;
		UPDATE deployments SET app = 'lone', ready_at = now() - interval '1 hour', drain_at = NULL, lost_at = NULL WHERE id = (SELECT id FROM deployments LIMIT 1);`+waitingClock)
	r := &snapshotRace{t: t}
	for _, c := range []**pgx.Conn{&r.slow, &r.other} {
		connection := must.Get(pgx.Connect(t.Context(), store.cfg.URL))(t)
		t.Cleanup(func() { require.NoError(t, connection.Close(context.Background())) })
		*c = connection
	}
	must.Get(r.slow.Exec(t.Context(), "SET search_path = public, pg_catalog"))(t)
	r.exec("SELECT pg_advisory_lock(7)")
	return r
}

func (r *snapshotRace) exec(query string) {
	r.t.Helper()
	must.Get(r.other.Exec(r.t.Context(), query))(r.t)
}

// set changes the instance.
func (r *snapshotRace) set(columns string) {
	r.t.Helper()
	r.exec("UPDATE instances SET emptied_at = pg_catalog.now() - interval '1 hour', " + columns + " WHERE deployment_id = (SELECT id FROM deployments WHERE app = 'lone')")
}

// count returns how many servers a statement chooses.
func (r *snapshotRace) count(choose func(context.Context, *query.Queries) ([]uuid.UUID, error)) int {
	ids, err := choose(r.t.Context(), query.New(r.slow))
	if err != nil {
		r.t.Error(err)
	}
	return len(ids)
}
