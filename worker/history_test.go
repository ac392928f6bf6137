package worker

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func partition(table string, days int) string {
	return table + "_" + time.Now().UTC().AddDate(0, 0, days).Format("20060102")
}

// Pins a day without a partition, whose rows can then only be deleted one by one; and ten workers that fail because all
// of them create the same partition.
func TestPartitionsAreMadeAheadAndDroppedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, table := range []string{"events", "seat_history"} {
		b.Exec("DROP TABLE " + partition(table, daysAhead))
	}
	b.attach(-40, "events")
	b.attach(-10, "events")

	require.Equal(t, Done{"partitions_made": 2, "partitions_dropped": 1}, b.race(10, "history", b.options()))
	require.Equal(t, daysAhead, storetest.One[int](b.DB, "SELECT min(days_ahead) FROM ops.partitions"))
	require.True(t, storetest.One[bool](b.DB, "SELECT to_regclass($1) IS NULL AND to_regclass($2) IS NOT NULL", partition("events", -40), partition("events", -10)))

	o := b.options()
	o.Retention = 2 * day
	require.Equal(t, Done{"partitions_dropped": 1}, once(t, loopOf(t, o, "history")))
}

// The history of matches has a retention of its own; 0 keeps no day that has ended.
func TestTheHistoryOfMatchesIsDroppedByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, table := range []string{"match_history", "ticket_history", "ticket_events"} {
		b.attach(-9, table)
		b.attach(-1, table)
	}
	o := b.options()
	require.Equal(t, Done{"partitions_dropped": 2}, once(t, loopOf(t, o, "history")))
	require.True(t, storetest.One[bool](b.DB, "SELECT to_regclass($1) IS NULL AND to_regclass($2) IS NOT NULL", partition("ticket_history", -9), partition("match_history", -1)))
	o.MatchRetention = -1
	require.Equal(t, Done{"partitions_dropped": 2}, once(t, loopOf(t, o, "history")))
	require.True(t, storetest.One[bool](b.DB, "SELECT to_regclass($1) IS NULL AND to_regclass($2) IS NOT NULL", partition("match_history", -1), partition("ticket_events", -9)))
}

// Refusals, of which there may be very many, are kept for a week, and for no longer than everything else.
func TestRefusalsAreKeptForAWeek(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, age := range []int{-9, -6, -2} {
		b.attach(age, "player_refusals")
	}
	require.Equal(t, Done{"partitions_dropped": 1}, once(t, loopOf(t, b.options(), "history")))
	o := b.options()
	o.Retention = 3 * day
	require.Equal(t, Done{"partitions_dropped": 1}, once(t, loopOf(t, o, "history")))
	require.True(t, storetest.One[bool](b.DB, "SELECT to_regclass($1) IS NOT NULL", partition("player_refusals", -2)))
}

// withoutWorker puts the history tables into the state after days without a worker: the newest partition is that of day
// last, counted from today, and the default partition holds n rows for each later day up to today.
func (b *bundle) withoutWorker(last, n int) {
	b.t.Helper()
	b.Exec(`
		DO $$ DECLARE part text; BEGIN
			FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent IN ('events'::regclass, 'seat_history'::regclass, 'session_history'::regclass)
				AND inhrelid::regclass::text !~ 'default'
			LOOP EXECUTE 'DROP TABLE ' || part; END LOOP;
		END $$`)
	b.attach(last, historyTables...)
	b.rows(last+1, 0, n)
}

var historyTables = []string{"events", "seat_history", "session_history"}

// attach creates the partitions of one day.
func (b *bundle) attach(days int, tables ...string) {
	b.t.Helper()
	from := time.Now().UTC().AddDate(0, 0, days).Truncate(day)
	for _, table := range tables {
		b.Exec("CREATE TABLE " + partition(table, days) + " PARTITION OF " + table + " FOR VALUES FROM ('" + from.Format(time.RFC3339) + "') TO ('" + from.Add(day).Format(time.RFC3339) + "')")
	}
}

// rows writes n rows of history for each day from first to last. The first row of a day is dated to its first moment.
func (b *bundle) rows(first, last, n int) {
	b.t.Helper()
	const at = "date_trunc('day', now(), 'UTC') + d * interval '1 day' + i * interval '1 microsecond'"
	const days = "generate_series($1::int, $2::int) d, generate_series(0, $3::int - 1) i"
	b.Exec("INSERT INTO events (kind, at) SELECT 'old', "+at+" FROM "+days, first, last, n)
	b.Exec("INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, left_at, reason) "+
		"SELECT 'eu', gen_random_uuid(), 'ann', 'duel', gen_random_uuid(), 'ann', now(), "+at+", 'left' FROM "+days, first, last, n)
	b.Exec("INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, closed_at, reason) "+
		"SELECT 'eu', gen_random_uuid(), 'h', 'duel', 'arena', gen_random_uuid(), 0, 2, now(), "+at+", 'ended' FROM "+days, first, last, n)
}

// requireRepaired asserts that nothing is left in the default partitions and that each history table has that many
// rows.
func (b *bundle) requireRepaired(rows int) {
	b.t.Helper()
	require.Equal(b.t, 3, storetest.One[int](b.DB, "SELECT count(*)::int FROM ops.partitions WHERE days_ahead = $1 AND default_bytes = 0 AND table_name IN ('events', 'seat_history', 'session_history')", daysAhead))
	for _, table := range historyTables {
		require.Equal(b.t, rows, storetest.One[int](b.DB, "SELECT count(*)::int FROM "+table), table)
	}
}

// runUntilDone runs the loop until a run succeeds, as a worker does, and returns the sum of what the runs did.
func (b *bundle) runUntilDone(o Options) Done {
	total, l := Done{}, loopOf(b.t, o, "history")
	for range 100 {
		done, err := l.runOnce(b.t.Context())
		for what, n := range done {
			total.add(what, n)
		}
		if err == nil {
			return total
		}
	}
	b.t.Error("100 runs failed")
	return total
}

// insertMeanwhile starts callers that write events, as placement does, while a worker runs. The test fails when one
// waits longer for a lock than a call may take. stop returns how many events they wrote.
func (b *bundle) insertMeanwhile() (stop func() int) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	var callers sync.WaitGroup
	written := make([]int, 4)
	for i := range written {
		conn := must.Get(pgx.Connect(b.t.Context(), b.URL))(b.t)
		b.t.Cleanup(func() { _ = conn.Close(context.Background()) })
		must.Get(conn.Exec(ctx, "SET lock_timeout = '900ms'"))(b.t)
		callers.Go(func() {
			for ctx.Err() == nil {
				if _, err := conn.Exec(context.WithoutCancel(ctx), "INSERT INTO events (kind) VALUES ('new')"); err != nil {
					b.t.Error(err)
					return
				}
				written[i]++
			}
		})
	}
	return func() (sum int) {
		cancel()
		callers.Wait()
		for _, n := range written {
			sum += n
		}
		return sum
	}
}

// Pins rows that stayed in the default partition forever, and kept the alarm on.
func TestDaysWithoutAWorkerAreRepaired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withoutWorker(-12, 1000)
	stop := b.insertMeanwhile()
	total, adding := Done{}, sync.Mutex{}
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			done := b.runUntilDone(b.options())
			adding.Lock()
			defer adding.Unlock()
			for what, n := range done {
				total.add(what, n)
			}
		})
	}
	workers.Wait()
	written := stop()
	require.Equal(t, Done{"partitions_made": 3 * (daysAhead - 1), "default_partitions_replaced": 3}, total)
	require.Equal(t, written, storetest.One[int](b.DB, "SELECT count(*)::int FROM events WHERE kind = 'new'"))
	b.Exec("DELETE FROM events WHERE kind = 'new'")
	b.requireRepaired(12 * 1000)
	require.Empty(t, once(t, loopOf(t, b.options(), "history")), "nothing is left to do")
}

func TestAPartitionOfManyDaysIsDroppedAfterItsLast(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, last := time.Now().UTC().AddDate(0, 0, -20).Truncate(day), time.Now().UTC().AddDate(0, 0, -11).Truncate(day)
	b.Exec("CREATE TABLE events_" + first.Format("20060102") + "_" + last.Format("20060102") + " PARTITION OF events FOR VALUES FROM ('" +
		first.Format(time.RFC3339) + "') TO ('" + last.Add(day).Format(time.RFC3339) + "')")
	o := b.options()
	o.Retention = 11 * day
	require.Empty(t, once(t, loopOf(t, o, "history")))
	o.Retention = 10 * day
	require.Equal(t, Done{"partitions_dropped": 1}, once(t, loopOf(t, o, "history")))
}

// A reader sees every row at every moment, once. A reader of the event feed would miss a row for good whose table is
// detached for a moment, because the reader's cursor only moves forward.
func TestRowsAreReadableWhileTheDefaultPartitionIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withoutWorker(-3, 5000)
	ctx, cancel := context.WithCancel(t.Context())
	var reader sync.WaitGroup
	reader.Go(func() {
		for ctx.Err() == nil {
			var n int
			err := b.Pool().QueryRow(context.WithoutCancel(ctx), "SELECT count(*) FROM events").Scan(&n)
			if err != nil || n != 3*5000 {
				t.Errorf("%d rows, %v", n, err)
				return
			}
		}
	})
	b.runUntilDone(b.options())
	cancel()
	reader.Wait()
	b.requireRepaired(3 * 5000)
}

// An older release left rows in the default partition and attached partitions of days before and after them.
func TestTodayIsRepairedThoughTomorrowHasAPartition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withoutWorker(-3, 10)
	for days := range daysAhead {
		b.attach(days+1, historyTables...)
	}
	require.Equal(t, Done{"default_partitions_replaced": 3}, once(t, loopOf(t, b.options(), "history")))
	b.requireRepaired(3 * 10)
}

// Rows past the retention are deleted also where a default partition holds many days of them.
func TestRowsPastRetentionAreDeletedFromTheDefaultPartition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withoutWorker(-12, 700)
	o := b.options()
	o.Retention = 2 * day
	require.Equal(t, Done{"default_rows_deleted": 3 * 9 * 700, "partitions_dropped": 3, "default_partitions_replaced": 3, "partitions_made": 3 * (daysAhead - 1)},
		once(t, loopOf(t, o, "history")))
	b.requireRepaired(3 * 700)
}

// Rows before and after an existing partition cannot become one partition. They are repaired once the older ones are
// past the retention and deleted.
func TestRowsOnBothSidesOfAPartitionWaitForRetention(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withoutWorker(-12, 10)
	b.Exec("DELETE FROM events WHERE at BETWEEN date_trunc('day', now(), 'UTC') - interval '7 days' AND date_trunc('day', now(), 'UTC')")
	b.Exec("CREATE TABLE " + partition("events", -6) + " PARTITION OF events FOR VALUES FROM (date_trunc('day', now(), 'UTC') - interval '6 days') TO (date_trunc('day', now(), 'UTC') - interval '5 days')")

	done := once(t, loopOf(t, b.options(), "history"))
	require.Equal(t, 2, done["default_partitions_replaced"], "seat_history and session_history")
	require.Equal(t, []string{"events"}, storetest.One[[]string](b.DB, "SELECT array_agg(table_name::text) FROM ops.partitions WHERE default_bytes > 0"))
	require.True(t, storetest.One[bool](b.DB, "SELECT to_regclass($1) IS NOT NULL", partition("events", daysAhead)), "partitions of the coming days are made nevertheless")
	require.Equal(t, -1, storetest.One[int](b.DB, "SELECT days_ahead FROM ops.partitions WHERE table_name = 'events'"), "but not today's")
	o := b.options()
	o.Retention = 4 * day
	require.Equal(t, 1, once(t, loopOf(t, o, "history"))["default_partitions_replaced"])
	require.Zero(t, storetest.One[int](b.DB, "SELECT count(*)::int FROM ops.partitions WHERE default_bytes > 0"))
}

// A long read blocks neither placement nor, once it ends, the repair.
func TestRepairWaitsForALongRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withoutWorker(-3, 10)
	reader, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = reader.Rollback(context.Background()) })
	_, err = reader.Exec(t.Context(), "SELECT count(*) FROM events")
	require.NoError(t, err)

	stop := b.insertMeanwhile()
	done, err := loopOf(t, b.options(), "history").runOnce(t.Context())
	written := stop()
	require.ErrorContains(t, err, "events: unavailable")
	require.Equal(t, 2, done["default_partitions_replaced"], "the other tables")
	require.NoError(t, reader.Rollback(t.Context()))
	require.Equal(t, 1, once(t, loopOf(t, b.options(), "history"))["default_partitions_replaced"])
	require.Equal(t, written, storetest.One[int](b.DB, "SELECT count(*)::int FROM events WHERE kind = 'new'"))
	b.Exec("DELETE FROM events WHERE kind = 'new'")
	b.requireRepaired(3 * 10)
}

// Pins a default partition that was emptied by hand, kept its file, and so kept the alarm on.
func TestAnEmptyDefaultPartitionGivesItsSpaceBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec("INSERT INTO events (kind, at) VALUES ('old', now() - interval '1 day')")
	b.Exec("DELETE FROM events_default")
	require.Equal(t, 1, storetest.One[int](b.DB, "SELECT count(*)::int FROM ops.partitions WHERE default_bytes > 0"))
	require.Empty(t, once(t, loopOf(t, b.options(), "history")))
	b.requireRepaired(0)
}

// A clock that was wrong for a while leaves rows of a distant day. Their partition does not hide that tomorrow has
// none.
func TestRowsOfADistantDayHideNoAlarm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec("INSERT INTO events (kind, at) VALUES ('old', now() + interval '1 year')")
	require.Equal(t, Done{"default_partitions_replaced": 1}, once(t, loopOf(t, b.options(), "history")))
	b.Exec("DROP TABLE " + partition("events", 1))
	require.Equal(t, 0, storetest.One[int](b.DB, "SELECT days_ahead FROM ops.partitions WHERE table_name = 'events'"))
	require.Equal(t, Done{"partitions_made": 1}, once(t, loopOf(t, b.options(), "history")))
	require.Equal(t, daysAhead, storetest.One[int](b.DB, "SELECT days_ahead FROM ops.partitions WHERE table_name = 'events'"))
}

// ATTACH scans a table under an exclusive lock unless a validated CHECK proves the bounds of its rows. Postgres logs
// whether it skipped the scan.
func TestNoRowIsScannedUnderAnExclusiveLock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withoutWorker(-3, 10)
	var notices []string
	config := b.Pool().Config().ConnConfig.Copy()
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n.Message) }
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	for _, sql := range []string{"SET client_min_messages = debug1", "SELECT bound_default_partition('events')", "SELECT replace_default_partition('events')"} {
		_, err = conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	part := partition("events", -2) + "_" + time.Now().UTC().AddDate(0, 0, 1).Format("20060102")
	require.Contains(t, strings.Join(notices, "\n"), `partition constraint for table "`+part+`" is implied by existing constraints`)
}
