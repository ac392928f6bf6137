package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

func (s *Store) inTx(ctx context.Context, fn func(q *query.Queries) error) error {
	return s.frame.InTx(ctx, fn)
}

func (s *Store) inBulkTx(ctx context.Context, fn func(q *query.Queries) error) error {
	return s.frame.InBulkTx(ctx, fn)
}

func (s *Store) inTxWithin(ctx context.Context, limits tx.Timeouts, fn func(q *query.Queries) error) error {
	return s.frame.InTxWithin(ctx, limits, fn)
}

func (s *Store) inBulkTxWithRetries(ctx context.Context, fn func(q *query.Queries) error) error {
	return s.frame.InBulkTxWithRetries(ctx, fn)
}

func (s *Store) inTxWithRetries(ctx context.Context, fn func(q *query.Queries) error) error {
	return s.frame.InTxWithRetries(ctx, fn)
}
