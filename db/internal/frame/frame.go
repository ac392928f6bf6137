// Package frame is what each part of the store stands on: the pool of connections, short transactions with the timeouts
// of their kind, and the errors that callers get of those of pgx. It knows no capability.
package frame

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// Frame is what each part of the store stands on. A copy shares its connections; it is safe for concurrent use.
type Frame struct {
	Pool    *pgxpool.Pool
	Queries *query.Queries // outside of transactions: each statement is one
	Hold    Hold
}

// InTx runs fn in a short transaction, which must not take longer than Hold. An error of fn rolls back.
// Errors: fn's; why the transaction could not be committed; or that its outcome is unknown.
func (f Frame) InTx(ctx context.Context, fn func(q *query.Queries) error) error {
	return f.InTxWithin(ctx, f.Hold.HotTimeouts(), fn)
}

// InBulkTx is InTx for statements over many rows that no caller waits for: batches of workers, a page of assignments.
func (f Frame) InBulkTx(ctx context.Context, fn func(q *query.Queries) error) error {
	return f.InTxWithin(ctx, f.Hold.BulkTimeouts(), fn)
}

// InTxWithin is InTx with timeouts of its own.
func (f Frame) InTxWithin(ctx context.Context, limits tx.Timeouts, fn func(q *query.Queries) error) error {
	return tx.Run(ctx, f.Pool, limits, func(t *tx.Tx) error { return fn(query.New(t)) })
}

// MaxConflictRetries bounds how often a transaction that loses against another one is retried.
const MaxConflictRetries = 5

// InBulkTxWithRetries is InBulkTx for statements that lock many rows: it retries a transaction that lost against
// another one.
func (f Frame) InBulkTxWithRetries(ctx context.Context, fn func(q *query.Queries) error) (err error) {
	for range MaxConflictRetries {
		if err = f.InBulkTx(ctx, fn); !IsConflict(err) {
			return err
		}
	}
	return err
}

// InTxWithRetries is InTx for calls that share no batch: it retries a transaction that lost against another one.
func (f Frame) InTxWithRetries(ctx context.Context, fn func(q *query.Queries) error) (err error) {
	for range MaxConflictRetries {
		if err = f.InTx(ctx, fn); !IsConflict(err) {
			return err
		}
	}
	return err
}
