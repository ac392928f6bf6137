package db

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// transaction is one at READ COMMITTED: each statement sees what was committed before it, which is what judging again
// under a lock needs. Its BEGIN travels with its first pipeline, its COMMIT with the statements that were put off.
type transaction struct {
	conn     *pgx.Conn
	timeouts timeouts
	begun    bool
	last     pipeline
}

// inTx runs fn in a short transaction, which must not take longer than Config.HoldTimeout; fn's error rolls back. Errors:
// fn's, or why it could not be committed, or that nobody knows whether it was.
func (s *Store) inTx(ctx context.Context, fn func(q *Queries) error) error {
	return s.inTxWithin(ctx, s.cfg.hotTimeouts(), fn)
}

// inBulkTx is inTx for statements over many rows, which nobody waits for: workers' batches, a page of assignments.
func (s *Store) inBulkTx(ctx context.Context, fn func(q *Queries) error) error {
	return s.inTxWithin(ctx, s.cfg.bulkTimeouts(), fn)
}

func (s *Store) inTxWithin(ctx context.Context, limits timeouts, fn func(q *Queries) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which closes a connection that is left inside a transaction
	tx := &transaction{conn: conn.Conn(), timeouts: limits}
	if err = fn(New(tx)); err == nil {
		err = tx.commit(ctx)
	}
	if err != nil {
		tx.rollback(ctx)
	}
	return err
}

// putOff gives the pipeline of statements whose answers nobody waits for: they go out with COMMIT, or with flush.
func (q *Queries) putOff() *pipeline { return &q.db.(*transaction).last }

// flush runs what was put off, for a statement that has to see it.
func (q *Queries) flush(ctx context.Context) error {
	last := q.putOff()
	defer func() { *last = pipeline{} }()
	return last.send(ctx, q)
}

func (tx *transaction) commit(ctx context.Context) error {
	if !tx.begun && len(tx.last.read) == 0 {
		return nil
	}
	tell(&tx.last, func(q *Queries, ctx context.Context, _ struct{}) error {
		tag, err := q.db.Exec(ctx, "commit")
		if err == nil && tag.String() == "ROLLBACK" {
			// A statement failed before, and fn took no notice of it.
			return pgx.ErrTxCommitRollback
		}
		return err
	}, struct{}{})
	return tx.last.send(ctx, New(tx))
}

// rollbackPatience bounds a rollback, which must work after ctx has ended.
const rollbackPatience = time.Second

func (tx *transaction) rollback(ctx context.Context) {
	if tx.conn.IsClosed() || tx.conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackPatience)
	defer cancel()
	_, _ = tx.conn.Exec(ctx, "rollback") // where this fails, the connection is closed
}

func (tx *transaction) begin(ctx context.Context) error {
	if tx.begun {
		return nil
	}
	tx.begun = true
	_, err := tx.conn.Exec(ctx, strings.Join(tx.timeouts.begin(tx.conn), "; "))
	return err
}

// Exec implements DBTX.
func (tx *transaction) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := tx.begin(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return tx.conn.Exec(ctx, sql, args...)
}

// Query implements DBTX.
func (tx *transaction) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := tx.begin(ctx); err != nil {
		return nil, err
	}
	return tx.conn.Query(ctx, sql, args...)
}

// QueryRow implements DBTX.
func (tx *transaction) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := tx.begin(ctx); err != nil {
		return failedRow{err}
	}
	return tx.conn.QueryRow(ctx, sql, args...)
}

// SendBatch runs a batch, with BEGIN ahead of it where nothing ran before.
func (tx *transaction) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if tx.begun {
		return tx.conn.SendBatch(ctx, b)
	}
	tx.begun = true
	var first []*pgx.QueuedQuery
	for _, sql := range tx.timeouts.begin(tx.conn) {
		first = append(first, &pgx.QueuedQuery{SQL: sql})
	}
	b.QueuedQueries = append(first, b.QueuedQueries...)
	results := tx.conn.SendBatch(ctx, b)
	for range first {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // what follows answers with the error as well
			break
		}
	}
	return results
}

type failedRow struct{ err error }

// Scan implements pgx.Row.
func (r failedRow) Scan(...any) error { return r.err }
