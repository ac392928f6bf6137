// Package tx runs short transactions at READ COMMITTED in few round trips: BEGIN travels with the first pipeline, and
// COMMIT with the statements that were deferred. Timeouts bound how long Postgres waits for a client in the middle of
// one.
//
// Each statement sees what was committed before it began, which a decision under a lock needs.
package tx

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Tx is a transaction, for one goroutine.
type Tx struct {
	conn     *pgx.Conn
	timeouts Timeouts
	hasBegun bool // BEGIN has succeeded
	// hasFailedToBegin is true once BEGIN has failed, also if a later one succeeds: what fn sent with it did not run.
	hasFailedToBegin bool
	deferred         Pipeline
}

// Run runs fn in a transaction on a connection of the pool. An error of fn rolls the transaction back. Errors: fn's;
// the reason why the transaction could not be committed; or an error of the connection, after which the outcome is
// unknown.
func Run(ctx context.Context, pool *pgxpool.Pool, limits Timeouts, fn func(*Tx) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // closes a connection that is still inside a transaction
	t := &Tx{conn: conn.Conn(), timeouts: limits}
	if err := t.runAndCommit(ctx, fn); err != nil {
		t.rollback(ctx)
		return err
	}
	return nil
}

func (t *Tx) runAndCommit(ctx context.Context, fn func(*Tx) error) error {
	if err := fn(t); err != nil {
		return err
	}
	return t.commit(ctx)
}

// Deferred returns the pipeline of statements whose results the transaction does not need: they are sent with COMMIT,
// or by Flush.
func (t *Tx) Deferred() *Pipeline { return &t.deferred }

// Flush runs the deferred statements, for a statement that must see what they wrote.
func (t *Tx) Flush(ctx context.Context) error {
	defer func() { t.deferred = Pipeline{} }()
	return t.deferred.Send(ctx, t)
}

// commit sends the deferred statements with COMMIT. A transaction that has run no statement sends nothing.
func (t *Tx) commit(ctx context.Context) error {
	if t.hasFailedToBegin {
		// fn ignored the error, as in the function below.
		return pgx.ErrTxCommitRollback
	}
	if !t.hasBegun && t.deferred.Empty() {
		return nil
	}
	Queue(&t.deferred, &struct{}{}, func(ctx context.Context, db DB) (struct{}, error) {
		tag, err := db.Exec(ctx, "commit")
		if err == nil && tag.String() == "ROLLBACK" {
			// A statement failed before, and fn ignored its error.
			err = pgx.ErrTxCommitRollback
		}
		return struct{}{}, err
	})
	return t.deferred.Send(ctx, t)
}

// rollbackTimeout bounds a rollback, which must work after ctx has ended.
const rollbackTimeout = time.Second

// rollback ends a transaction that has failed, unless the connection is closed or in no transaction.
func (t *Tx) rollback(ctx context.Context) {
	const inNoTransaction = 'I' // as the protocol of Postgres says it
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == inNoTransaction {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, _ = t.conn.Exec(ctx, "rollback") // when it fails, Release closes the connection
}

// begin begins the transaction before its first statement, in a round trip of its own. A transaction that begins with a
// pipeline takes none for BEGIN (see SendBatch), and one without statements takes none at all. After an error the next
// statement tries again, so that none runs outside the transaction.
func (t *Tx) begin(ctx context.Context) error {
	if t.hasBegun {
		return nil
	}
	_, err := t.conn.Exec(ctx, strings.Join(t.timeouts.beginStatements(t.conn), "; "))
	t.setBegun(err == nil)
	return err
}

func (t *Tx) setBegun(succeeded bool) {
	t.hasBegun = succeeded
	t.hasFailedToBegin = t.hasFailedToBegin || !succeeded
}

// Exec implements [DB].
func (t *Tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := t.begin(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return t.conn.Exec(ctx, sql, args...)
}

// Query implements [DB].
func (t *Tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	return t.conn.Query(ctx, sql, args...)
}

// QueryRow implements [DB].
func (t *Tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := t.begin(ctx); err != nil {
		return failedRow{err}
	}
	return t.conn.QueryRow(ctx, sql, args...)
}

// SendBatch implements [Sender]. It puts BEGIN into b, as its first statement, when the transaction has not begun.
func (t *Tx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if t.hasBegun {
		return t.conn.SendBatch(ctx, b)
	}
	var first []*pgx.QueuedQuery
	for _, sql := range t.timeouts.beginStatements(t.conn) {
		first = append(first, &pgx.QueuedQuery{SQL: sql})
	}
	b.QueuedQueries = append(first, b.QueuedQueries...)
	results := t.conn.SendBatch(ctx, b)
	began := true
	for range first {
		if _, err := results.Exec(); err != nil {
			began = false
			_ = results.Close() // the statements that follow return the error as well
			break
		}
	}
	t.setBegun(began)
	return results
}
