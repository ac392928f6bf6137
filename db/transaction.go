package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// inTx runs fn in a short transaction, which must not take longer than Config.HoldTimeout. An error of fn rolls back.
// Errors: fn's; why the transaction could not be committed; or that its outcome is unknown.
func (s *Store) inTx(ctx context.Context, fn func(q *query.Queries) error) error {
	return s.inTxWithin(ctx, s.cfg.hotTimeouts(), fn)
}

// inBulkTx is inTx for statements over many rows that no caller waits for: batches of workers, a page of assignments.
func (s *Store) inBulkTx(ctx context.Context, fn func(q *query.Queries) error) error {
	return s.inTxWithin(ctx, s.cfg.bulkTimeouts(), fn)
}

func (s *Store) inTxWithin(ctx context.Context, limits tx.Timeouts, fn func(q *query.Queries) error) error {
	return tx.Run(ctx, s.pool, limits, func(t *tx.Tx) error { return fn(query.New(t)) })
}

// maxConflictRetries bounds how often a transaction that loses against another one is retried.
const maxConflictRetries = 5

// inBulkTxWithRetries is inBulkTx for statements that lock many rows: it retries a transaction that lost against another one.
func (s *Store) inBulkTxWithRetries(ctx context.Context, fn func(q *query.Queries) error) (err error) {
	for range maxConflictRetries {
		if err = s.inBulkTx(ctx, fn); !isConflict(err) {
			return err
		}
	}
	return err
}

// inTxWithRetries is inTx for calls that share no batch: it retries a transaction that lost against another one.
func (s *Store) inTxWithRetries(ctx context.Context, fn func(q *query.Queries) error) (err error) {
	for range maxConflictRetries {
		if err = s.inTx(ctx, fn); !isConflict(err) {
			return err
		}
	}
	return err
}
