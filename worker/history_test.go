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
)

func partition(table string, days int) string {
	return table + "_" + time.Now().UTC().AddDate(0, 0, days).Format("20060102")
}

// Pins a day without a partition, after which its rows can only be dropped one by one; and ten workers that trip over
// each other making one.
func TestHistoryReachesAheadAndIsDroppedWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, table := range []string{"events", "seat_history"} {
		b.exec("DROP TABLE " + partition(table, daysAhead))
	}
	for _, age := range []int{-40, -10} {
		from := time.Now().UTC().AddDate(0, 0, age).Truncate(day)
		b.exec("CREATE TABLE " + partition("events", age) + " PARTITION OF events FOR VALUES FROM ('" +
			from.Format(time.RFC3339) + "') TO ('" + from.Add(day).Format(time.RFC3339) + "')")
	}

	require.Equal(t, Done{"partitions_made": 2, "partitions_dropped": 1}, b.race(10, "history", b.options()))
	require.Equal(t, daysAhead, one[int](b, "SELECT min(days_ahead) FROM ops.partitions"))
	require.True(t, one[bool](b, "SELECT to_regclass($1) IS NULL AND to_regclass($2) IS NOT NULL", partition("events", -40), partition("events", -10)))

	o := b.options()
	o.Retention = 2 * day
	require.Equal(t, Done{"partitions_dropped": 1}, once(t, loopOf(t, o, "history")))
}

// withoutWorker leaves the history tables as they are after days without a worker: the last partition is that of day last,
// counted from today, and n rows a day have fallen into the default partition from the day after that until today.
func (b *bundle) withoutWorker(last, n int) {
	b.t.Helper()
	b.exec(`
		DO $$ DECLARE part text; BEGIN
			FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent IN ('events'::regclass, 'seat_history'::regclass, 'session_history'::regclass)
				AND inhrelid::regclass::text !~ 'default'
			LOOP EXECUTE 'DROP TABLE ' || part; END LOOP;
		END $$`)
	b.attach(last)
	b.rows(last+1, 0, n)
}

// attach makes partitions of a day.
func (b *bundle) attach(days int) {
	b.t.Helper()
	from := time.Now().UTC().AddDate(0, 0, days).Truncate(day)
	for _, table := range []string{"events", "seat_history", "session_history"} {
		b.exec("CREATE TABLE " + partition(table, days) + " PARTITION OF " + table + " FOR VALUES FROM ('" +
			from.Format(time.RFC3339) + "') TO ('" + from.Add(day).Format(time.RFC3339) + "')")
	}
}

// rows writes n rows of history for each of the days from first to last, the day's first moment among their times.
func (b *bundle) rows(first, last, n int) {
	b.t.Helper()
	const at = "date_trunc('day', now(), 'UTC') + d * interval '1 day' + i * interval '1 microsecond'"
	const days = "generate_series($1::int, $2::int) d, generate_series(0, $3::int - 1) i"
	b.exec("INSERT INTO events (kind, at) SELECT 'old', "+at+" FROM "+days, first, last, n)
	b.exec("INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, left_at, reason) "+
		"SELECT 'eu', gen_random_uuid(), 'ann', 'duel', gen_random_uuid(), 'ann', now(), "+at+", 'left' FROM "+days, first, last, n)
	b.exec("INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, closed_at, reason) "+
		"SELECT 'eu', gen_random_uuid(), 'h', 'duel', 'arena', gen_random_uuid(), 0, 2, now(), "+at+", 'ended' FROM "+days, first, last, n)
}

// requireRepaired wants no alarm, and the same number of rows in each of the history tables.
func (b *bundle) requireRepaired(rows int) {
	b.t.Helper()
	require.Equal(b.t, 3, one[int](b, "SELECT count(*)::int FROM ops.partitions WHERE days_ahead = $1 AND default_bytes = 0", daysAhead))
	for _, table := range []string{"events", "seat_history", "session_history"} {
		require.Equal(b.t, rows, one[int](b, "SELECT count(*)::int FROM "+table), table)
	}
}

// turn runs the loop until nothing is in its way, as a worker does, and adds up what it did.
func (b *bundle) turn(o Options) Done {
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
	b.t.Error("something is in its way for ever")
	return total
}

// insertMeanwhile has callers write events, as placement does, while a worker works; none may wait for a lock for longer than
// a call may take. stop returns how many they wrote.
func (b *bundle) insertMeanwhile() (stop func() int) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	var callers sync.WaitGroup
	written := make([]int, 4)
	for i := range written {
		conn, err := pgx.Connect(b.t.Context(), b.url)
		require.NoError(b.t, err)
		b.t.Cleanup(func() { _ = conn.Close(context.Background()) })
		_, err = conn.Exec(ctx, "SET lock_timeout = '900ms'")
		require.NoError(b.t, err)
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

// Pins rows that stayed in the default partition for ever, the alarm with them.
func TestDaysWithoutAWorkerAreRepaired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withoutWorker(-12, 1000)
	stop := b.insertMeanwhile()
	total, adding := Done{}, sync.Mutex{}
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			done := b.turn(b.options())
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
	require.Equal(t, written, one[int](b, "SELECT count(*)::int FROM events WHERE kind = 'new'"))
	b.exec("DELETE FROM events WHERE kind = 'new'")
	b.requireRepaired(12 * 1000)
	require.Empty(t, once(t, loopOf(t, b.options(), "history")), "nothing is left to do")
}

func TestAPartitionOfManyDaysIsDroppedAfterItsLast(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, last := time.Now().UTC().AddDate(0, 0, -20).Truncate(day), time.Now().UTC().AddDate(0, 0, -11).Truncate(day)
	b.exec("CREATE TABLE events_" + first.Format("20060102") + "_" + last.Format("20060102") + " PARTITION OF events FOR VALUES FROM ('" +
		first.Format(time.RFC3339) + "') TO ('" + last.Add(day).Format(time.RFC3339) + "')")
	o := b.options()
	o.Retention = 11 * day
	require.Empty(t, once(t, loopOf(t, o, "history")))
	o.Retention = 10 * day
	require.Equal(t, Done{"partitions_dropped": 1}, once(t, loopOf(t, o, "history")))
}

// A reader has to see every row at every moment, once: a row in a table that is not attached would be missed, and a follower
// of the event feed that has read on would never come back for it.
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
	b.turn(b.options())
	cancel()
	reader.Wait()
	b.requireRepaired(3 * 5000)
}

// A release that left the rows in the default partition attached days on both sides of them.
func TestTodayIsRepairedThoughTomorrowHasAPartition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withoutWorker(-3, 10)
	for days := range daysAhead {
		b.attach(days + 1)
	}
	require.Equal(t, Done{"default_partitions_replaced": 3}, once(t, loopOf(t, b.options(), "history")))
	b.requireRepaired(3 * 10)
}

// Past retention nothing is kept: neither in days that are whole, nor in a default partition that caught many.
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

// Rows on both sides of a partition cannot become one partition: they are repaired when retention has deleted the older ones.
func TestRowsOnBothSidesOfAPartitionWaitForRetention(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withoutWorker(-12, 10)
	b.exec("DELETE FROM events WHERE at BETWEEN date_trunc('day', now(), 'UTC') - interval '7 days' AND date_trunc('day', now(), 'UTC')")
	b.exec("CREATE TABLE " + partition("events", -6) + " PARTITION OF events FOR VALUES FROM (date_trunc('day', now(), 'UTC') - interval '6 days') TO (date_trunc('day', now(), 'UTC') - interval '5 days')")

	done := once(t, loopOf(t, b.options(), "history"))
	require.Equal(t, 2, done["default_partitions_replaced"], "seat_history and session_history")
	require.Equal(t, []string{"events"}, one[[]string](b, "SELECT array_agg(table_name::text) FROM ops.partitions WHERE default_bytes > 0"))
	require.True(t, one[bool](b, "SELECT to_regclass($1) IS NOT NULL", partition("events", daysAhead)), "the days to come are made nevertheless")
	require.Equal(t, -1, one[int](b, "SELECT days_ahead FROM ops.partitions WHERE table_name = 'events'"), "but not today")
	o := b.options()
	o.Retention = 4 * day
	require.Equal(t, 1, once(t, loopOf(t, o, "history"))["default_partitions_replaced"])
	require.Zero(t, one[int](b, "SELECT count(*)::int FROM ops.partitions WHERE default_bytes > 0"))
}

// Somebody's long read must stop neither placement nor, once it is over, the repair.
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
	require.Equal(t, written, one[int](b, "SELECT count(*)::int FROM events WHERE kind = 'new'"))
	b.exec("DELETE FROM events WHERE kind = 'new'")
	b.requireRepaired(3 * 10)
}

// Emptied by hand, a default partition kept its file and the alarm.
func TestAnEmptyDefaultPartitionGivesItsSpaceBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("INSERT INTO events (kind, at) VALUES ('old', now() - interval '1 day')")
	b.exec("DELETE FROM events_default")
	require.Equal(t, 1, one[int](b, "SELECT count(*)::int FROM ops.partitions WHERE default_bytes > 0"))
	require.Empty(t, once(t, loopOf(t, b.options(), "history")))
	b.requireRepaired(0)
}

// A clock that was wrong for a while leaves rows of a distant day. Their partition must not hide that tomorrow has none.
func TestRowsOfADistantDayHideNoAlarm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("INSERT INTO events (kind, at) VALUES ('old', now() + interval '1 year')")
	require.Equal(t, Done{"default_partitions_replaced": 1}, once(t, loopOf(t, b.options(), "history")))
	b.exec("DROP TABLE " + partition("events", 1))
	require.Equal(t, 0, one[int](b, "SELECT days_ahead FROM ops.partitions WHERE table_name = 'events'"))
	require.Equal(t, Done{"partitions_made": 1}, once(t, loopOf(t, b.options(), "history")))
	require.Equal(t, daysAhead, one[int](b, "SELECT days_ahead FROM ops.partitions WHERE table_name = 'events'"))
}

// ATTACH scans a table under an exclusive lock unless a validated CHECK speaks for its rows. Postgres tells which it did.
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
