package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match"
)

const (
	// QueryBytes bounds what one reading of a query returns: it ends with the row that brings the sum of [QueryRowBytes]
	// and the body of each row to this. A pool of tickets that an index finds is read at once up to this size.
	QueryBytes = 8 << 20
	// QueryRowBytes is what a row counts besides its body.
	QueryRowBytes = 32

	// partBytes bounds in the same way a reading in the order of ids, of which a large pool needs many.
	partBytes = QueryBytes / 2
)

// PoolQuery reads what a pool holds, part by part. Each part is one short statement: nothing is locked or kept open in
// the database between two parts, so callers may take their time. It is not safe for concurrent use.
type PoolQuery[T any] struct {
	store    *Store
	readPage func(ctx context.Context, q *query.Queries) (part []T, over bool, err error)
	isOver   bool
}

// Next returns the next part, nil when there is no more. No row is in two parts. A row that is in the pool from the
// first call to the last is in one part; a row that comes or goes meanwhile may be. Errors: TooMany when all
// connections for large reads are in use, Unavailable.
func (q *PoolQuery[T]) Next(ctx context.Context) (part []T, err error) {
	if q.isOver {
		return nil, nil
	}
	err = q.store.read(ctx, func(ctx context.Context, statements *query.Queries) (err error) {
		part, q.isOver, err = q.readPage(ctx, statements)
		return err
	})
	return part, err
}

// rangeParams returns the ranges of a query as parameters of the statements.
func rangeParams(ranges []match.QueryRange) (keys []uuid.UUID, lows, highs []float64) {
	keys, lows, highs = []uuid.UUID{}, []float64{}, []float64{}
	for _, r := range ranges {
		keys = append(keys, r.Key)
		lows = append(lows, r.Low)
		highs = append(highs, r.High)
	}
	return keys, lows, highs
}
