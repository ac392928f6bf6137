package faults

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
)

// A worker starts after days without one, while players are placed. It moves the rows of the default partitions into
// partitions of their own; no caller waits for that, and a reader of the event feed reads every event once.
func TestDaysWithoutAWorker(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestRestoredDump")
	const old = 200_000
	r := newRig(t)
	r.ServeReplica()
	r.KeepAlive(time.Second, "a", "b", "c")
	// The state days after the last worker ended: no partition of today exists, and the rows of the last days are in the
	// default partitions.
	r.ExecSQL(`
		DO $$ DECLARE part text; BEGIN
			FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent IN ('events'::regclass, 'seat_history'::regclass, 'session_history'::regclass)
				AND inhrelid::regclass::text !~ 'default'
			LOOP EXECUTE 'DROP TABLE ' || part; END LOOP;
		END $$`)
	r.ExecSQL("INSERT INTO events (kind, at) SELECT 'old', now() - (i % 4) * interval '1 day' FROM generate_series(1, $1::int) i", old)
	f := r.follow()
	l := r.startLoad(16)
	l.seats.Await(50)

	inserted := r.insertUntil(func() {
		r.StartProcess("work")
		require.Eventually(t, func() bool {
			return one[bool](r, "SELECT bool_and(days_ahead >= 7 AND default_bytes = 0) FROM ops.partitions")
		}, 60*time.Second, 50*time.Millisecond, "rows are left in a default partition")
		l.seats.Await(50)
	})
	l.callers.End()
	f.stop()
	l.requireAcknowledged()
	require.Equal(t, old, f.seen["old"])
	require.Equal(t, inserted, f.seen["new"])
	require.Equal(t, one[int](r, "SELECT count(*)::int FROM events"), f.count, "events read, each once")
}

// insertUntil writes events as placements do, until fn has returned, and returns how many. The test fails when an
// INSERT waits longer for a lock than a call may take.
func (r *rig) insertUntil(fn func()) (n int) {
	r.T.Helper()
	conn := must.Get(pgx.Connect(r.T.Context(), r.Cluster.URL("postgres")))(r.T)
	r.T.Cleanup(func() { _ = conn.Close(context.Background()) })
	must.Get(conn.Exec(r.T.Context(), "SET lock_timeout = '900ms'"))(r.T)
	stop := background.Loop(r.T, func(ctx context.Context) {
		for ctx.Err() == nil {
			if _, err := conn.Exec(context.WithoutCancel(ctx), "INSERT INTO events (kind) VALUES ('new')"); err != nil {
				r.T.Error(err)
				return
			}
			n++
			pause(ctx, time.Millisecond)
		}
	})
	fn()
	stop()
	return n
}

// follower reads ops.event_feed as the view's comment prescribes, and counts events by kind.
type follower struct {
	*rig
	tx, id  string
	seen    map[string]int
	count   int
	endLoop func()
}

// follow reads the feed until stop.
func (r *rig) follow() *follower {
	f := &follower{rig: r, tx: "0", id: "00000000-0000-0000-0000-000000000000", seen: map[string]int{}}
	f.endLoop = background.Loop(r.T, func(ctx context.Context) {
		for ; ctx.Err() == nil; pause(ctx, 10*time.Millisecond) {
			f.read()
		}
	})
	return f
}

// stop ends the loop, and then reads the feed to its end.
func (f *follower) stop() {
	f.T.Helper()
	f.endLoop()
	end := one[string](f.rig, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
	require.Eventually(f.T, func() bool {
		f.read()
		return one[bool](f.rig, "SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8", end)
	}, 30*time.Second, 10*time.Millisecond)
	f.read()
}

// read reads all pages that the feed has now.
func (f *follower) read() {
	const pageSize = 10_000
	for {
		// The aliases differ from the column names: otherwise ORDER BY would sort by the texts.
		// CollectRows returns the error of Query, too.
		rows, _ := f.SQLPool.Query(context.WithoutCancel(f.T.Context()), `
			SELECT tx::text AS cursor_tx, id::text AS cursor_id, kind FROM ops.event_feed
			WHERE (tx, id) > ($1::xid8, $2::uuid) ORDER BY tx, id LIMIT $3`, f.tx, f.id, pageSize)
		page, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ TX, ID, Kind string }])
		if err != nil {
			f.T.Error(err)
			return
		}
		for _, e := range page {
			f.tx, f.id = e.TX, e.ID
			f.seen[e.Kind]++
			f.count++
		}
		if len(page) < pageSize {
			return
		}
	}
}
