package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/tx"
)

// inTx runs fn in a short transaction, which must not take longer than Config.HoldTimeout. An error of fn rolls back.
// Errors: fn's; why the transaction could not be committed; or that its outcome is unknown.
func (s *Store) inTx(ctx context.Context, fn func(q *Queries) error) error {
	return s.inTxWithin(ctx, s.cfg.hotTimeouts(), fn)
}

// inBulkTx is inTx for statements over many rows that no caller waits for: batches of workers, a page of assignments.
func (s *Store) inBulkTx(ctx context.Context, fn func(q *Queries) error) error {
	return s.inTxWithin(ctx, s.cfg.bulkTimeouts(), fn)
}

func (s *Store) inTxWithin(ctx context.Context, limits tx.Timeouts, fn func(q *Queries) error) error {
	return tx.Run(ctx, s.pool, limits, func(t *tx.Tx) error { return fn(New(t)) })
}

// maxConflictRetries bounds how often a transaction that loses against another one is retried.
const maxConflictRetries = 5

// inBulkTxWithRetries is inBulkTx for statements that lock many rows: it retries a transaction that lost against another one.
func (s *Store) inBulkTxWithRetries(ctx context.Context, fn func(q *Queries) error) (err error) {
	for range maxConflictRetries {
		if err = s.inBulkTx(ctx, fn); !isConflict(err) {
			return err
		}
	}
	return err
}

// inTxWithRetries is inTx for calls that share no batch: it retries a transaction that lost against another one.
func (s *Store) inTxWithRetries(ctx context.Context, fn func(q *Queries) error) (err error) {
	for range maxConflictRetries {
		if err = s.inTx(ctx, fn); !isConflict(err) {
			return err
		}
	}
	return err
}

// deferred returns the pipeline of statements that run with COMMIT, or with flush.
func (q *Queries) deferred() *tx.Pipeline { return q.db.(*tx.Tx).Deferred() }

// flush runs the deferred statements, for a statement that must see what they wrote.
func (q *Queries) flush(ctx context.Context) error { return q.db.(*tx.Tx).Flush(ctx) }

// send runs a pipeline.
func (q *Queries) send(ctx context.Context, p *tx.Pipeline) error {
	return p.Send(ctx, q.db.(tx.Sender))
}

// queue adds a query to a pipeline. Its result is in into after send.
func queue[Arg, Res any](p *tx.Pipeline, into *Res, query func(*Queries, context.Context, Arg) (Res, error), arg Arg) {
	tx.Queue(p, into, func(ctx context.Context, db tx.DB) (Res, error) { return query(New(db), ctx, arg) })
}

// queueExec adds a statement without a result to a pipeline.
func queueExec[Arg any](p *tx.Pipeline, statement func(*Queries, context.Context, Arg) error, arg Arg) {
	tx.Queue(p, &struct{}{}, func(ctx context.Context, db tx.DB) (struct{}, error) {
		return struct{}{}, statement(New(db), ctx, arg)
	})
}
