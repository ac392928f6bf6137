package db

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// withShortHold opens a store with one connection, whose transactions Postgres ends after 200 ms.
func withShortHold(t *testing.T, databaseURL string) *Store {
	t.Helper()
	return openStore(t, Config{URL: databaseURL, MaxConns: 1, HoldTimeout: 200 * time.Millisecond})
}

// poolerURL returns the URL of the database through a proxy that reports another process id than the server's to
// clients, as a transaction pooler does.
func poolerURL(t *testing.T, databaseURL string) string {
	t.Helper()
	return dbtest.NewProxy(t, databaseURL, passAsPooler).URL
}

func passAsPooler(_ context.Context, client, server net.Conn) {
	go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
	const backendKeyData, kindAndLength = 'K', 5
	for head := make([]byte, kindAndLength); ; {
		if _, err := io.ReadFull(server, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(server, body); err != nil {
			return
		}
		if head[0] == backendKeyData {
			binary.BigEndian.PutUint32(body, 1<<30) // more than any process id
		}
		if _, err := client.Write(append(head[:kindAndLength:kindAndLength], body...)); err != nil {
			return
		}
	}
}

// oneRow reads one row: a pool or a transaction.
type oneRow interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func setting(t *testing.T, q oneRow, name string) (value string) {
	t.Helper()
	require.NoError(t, q.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&value))
	return value
}

// Pins a process that freezes in the middle of a transaction, and keeps its locks as long as the settings of Postgres
// allow.
func TestAFrozenProcessLosesItsLocks(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]func(*testing.T, string) string{
		"direct": func(_ *testing.T, u string) string { return u }, "by way of a pooler": poolerURL,
	} {
		for beginning, first := range map[string]func(context.Context, *query.Queries) error{
			"a statement": func(ctx context.Context,
				q *query.Queries) error {
				return q.WaitForOpeners(ctx, []int64{1})
			},
			"a pipeline": func(ctx context.Context, q *query.Queries) error {
				var p tx.Pipeline
				query.QueueExec(&p, (*query.Queries).WaitForOpeners, []int64{1})
				return q.Send(ctx, &p)
			},
		} {
			t.Run(name+" after "+beginning, func(t *testing.T) {
				t.Parallel()
				direct := dbtest.New(t)
				other, err := pgxpool.New(t.Context(), direct)
				require.NoError(t, err)
				t.Cleanup(other.Close)
				err = withShortHold(t, way(t, direct)).frame.InTx(t.Context(), func(q *query.Queries) error {
					if err := first(t.Context(), q); err != nil {
						return err
					}
					// It is idle until another connection gets its lock.
					_, err := other.Exec(t.Context(), "SELECT pg_advisory_lock(1)")
					require.NoError(t, err)
					query.QueueExec(q.Deferred(), (*query.Queries).WaitForOpeners, []int64{2})
					return nil
				})
				require.True(t, fault.Is(frame.Classify(err), fault.Unavailable), "%v", err)
			})
		}
	}
}

// Pins a frozen process whose transactions wait for each other: when Postgres ends the first one, the second one gets
// its lock, and would hold it for as long again.
func TestAHotStatementDoesNotWaitForLong(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]func(*testing.T, string) string{
		"direct": func(_ *testing.T, u string) string { return u }, "by way of a pooler": poolerURL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := dbtest.New(t)
			other, err := pgx.Connect(t.Context(), direct)
			require.NoError(t, err)
			t.Cleanup(func() { _ = other.Close(context.Background()) })
			_, err = other.Exec(t.Context(), "SELECT pg_advisory_lock(1)")
			require.NoError(t, err)
			err = withShortHold(t, way(t, direct)).frame.InTx(t.Context(),
				func(q *query.Queries) error { return q.WaitForOpeners(t.Context(), []int64{1}) })
			var pg *pgconn.PgError
			require.ErrorAs(t, err, &pg)
			require.Equal(t, "57014", pg.Code)
			require.True(t, fault.Is(frame.Classify(err), fault.Unavailable))
		})
	}
}

// timeouts returns those of a transaction: idle, of a statement, and of the whole, which Postgres has from 17 on.
func timeouts(t *testing.T, tx oneRow) []string {
	t.Helper()
	values := make([]string, 3)
	require.NoError(t, tx.QueryRow(t.Context(), `SELECT current_setting('idle_in_transaction_session_timeout'),
		current_setting('statement_timeout'), coalesce(current_setting('transaction_timeout', true), '200ms')`).
		Scan(&values[0], &values[1], &values[2]))
	return values
}

// Pins settings that reach other clients of a pooler.
func TestSessionsBehindAPoolerAreNotChanged(t *testing.T) {
	t.Parallel()
	database := dbtest.New(t)
	direct, pooled := withShortHold(t, database), withShortHold(t, poolerURL(t, database))
	for name, want := range map[string]string{
		"idle_in_transaction_session_timeout": "75ms", "statement_timeout": "5min",
		"client_connection_check_interval": "500ms",
	} {
		require.Equal(t, want, setting(t, direct.pool, name), name)
		require.Equal(t, "0", setting(t, pooled.pool, name), name)
	}
	require.Equal(t, "1min", setting(t, direct.readerPool, "statement_timeout"))
	for _, s := range []*Store{direct, pooled} {
		// Within one statement: between two the process may be slower than the time that Postgres gives it here.
		require.NoError(t, s.frame.InTx(t.Context(), func(q *query.Queries) error {
			require.Equal(t, []string{"75ms", "100ms", "200ms"}, timeouts(t, q.Tx()))
			return nil
		}))
		require.NoError(t, s.frame.InTxWithin(t.Context(), s.cfg.transactionHold().AcceptanceTimeouts(),
			func(q *query.Queries) error {
				require.Equal(t, []string{"200ms", "30s"}, timeouts(t, q.Tx())[:2])
				return nil
			}))
	}
	require.Equal(t, "5min", setting(t, direct.pool, "statement_timeout"), "the timeouts of a transaction end with it")
	require.Equal(t, "0", setting(t, pooled.pool, "statement_timeout"))
}

// Pins a transaction that ignores the error of a statement: Postgres answers COMMIT with ROLLBACK, and the caller gets
// success.
func TestACommitThatRollsBackIsAnError(t *testing.T) {
	t.Parallel()
	s := withShortHold(t, dbtest.New(t))
	for name, last := range map[string]func(q *query.Queries){
		"alone": func(*query.Queries) {},
		"with a statement": func(q *query.Queries) {
			query.QueueExec(q.Deferred(), (*query.Queries).WaitForOpeners,
				[]int64{1})
		},
	} {
		err := s.frame.InTx(t.Context(), func(q *query.Queries) error {
			_, err := q.Tx().Exec(t.Context(), "SELECT 1/0")
			require.Error(t, err)
			last(q)
			return nil
		})
		require.Error(t, err, name)
	}
	err := s.frame.InTx(t.Context(), func(q *query.Queries) error {
		_, err := q.Tx().Exec(t.Context(), "SELECT 1/0")
		require.Error(t, err)
		return nil
	})
	require.ErrorIs(t, err, pgx.ErrTxCommitRollback)
	require.True(t, fault.Is(frame.Classify(err), fault.Unavailable))
}

// Pins a transaction whose BEGIN fails, and which ignores that: its next statements ran outside a transaction.
func TestNoStatementRunsOutsideItsTransaction(t *testing.T) {
	t.Parallel()
	s := withShortHold(t, dbtest.New(t))
	_, err := s.pool.Exec(t.Context(), "CREATE TABLE notes (n int)")
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	for name, first := range map[string]func(q *query.Queries) error{
		"a statement": func(q *query.Queries) error { return q.WaitForOpeners(ended, []int64{1}) },
		"a pipeline": func(q *query.Queries) error {
			var p tx.Pipeline
			query.QueueExec(&p, (*query.Queries).WaitForOpeners, []int64{1})
			return q.Send(ended, &p)
		},
	} {
		err := s.frame.InTx(t.Context(), func(q *query.Queries) error {
			require.ErrorIs(t, first(q), context.Canceled, name)
			_, err := q.Tx().Exec(t.Context(), "INSERT INTO notes VALUES (1)")
			require.NoError(t, err, name)
			return io.EOF
		})
		require.ErrorIs(t, err, io.EOF, name)
	}
	var count int
	require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM notes").Scan(&count))
	require.Zero(t, count)
}

// Deferred statements run before COMMIT: when one fails, nothing is committed.
func TestAFailedDeferredStatementCommitsNothing(t *testing.T) {
	t.Parallel()
	s := withShortHold(t, dbtest.New(t))
	_, err := s.pool.Exec(t.Context(), "CREATE TABLE notes (n int)")
	require.NoError(t, err)
	err = s.frame.InTx(t.Context(), func(q *query.Queries) error {
		_, err := q.Tx().Exec(t.Context(), "INSERT INTO notes VALUES (1)")
		require.NoError(t, err)
		tx.Queue(q.Deferred(), &struct{}{}, func(ctx context.Context, db tx.DB) (struct{}, error) {
			_, err := db.Exec(ctx, "SELECT 1/0")
			return struct{}{}, err
		})
		return nil
	})
	require.ErrorContains(t, err, "division by zero")
	var n int
	require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM notes").Scan(&n))
	require.Zero(t, n)
}

// Pins a search for a commit after an error with which nothing can have been committed.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for code, unknown := range map[string]bool{
		"25P03": false, "40001": false, "23505": false,
		"57014": true, "57P01": true, "57P05": true, "25P04": true, "08006": true,
	} {
		err := &pgconn.PgError{Code: code}
		require.Equal(t, unknown, outcomeUnknown(err), code)
	}
	require.False(t, frame.IsDataError(&pgconn.PgError{Code: "25P03"}),
		"a transaction that Postgres ended is not retried by halves")
	require.False(t, outcomeUnknown(pgx.ErrTxCommitRollback))
	require.True(t, outcomeUnknown(io.ErrUnexpectedEOF))
}
