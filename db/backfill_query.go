package db

import (
	"context"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match"
)

// QueryBackfills returns a query of the backfills in a pool, which has passed its Check, without expired ones.
func (s *Store) QueryBackfills(region string, p match.Pool) *PoolQuery[Backfill] {
	poolQuery, possible := p.Query()
	params := query.QueryBackfillsParams{
		Region: region, Terms: poolQuery.Terms, Present: poolQuery.Present, AckedFor: s.cfg.Timing.backfillTTL(),
		CreatedAfter: poolQuery.CreatedAfter, CreatedBefore: poolQuery.CreatedBefore, Most: partBytes,
		Rows: partBytes / QueryRowBytes,
	}
	params.RangeKeys, params.Lows, params.Highs = rangeParams(poolQuery.Ranges)
	r := &backfillReader{params}
	return &PoolQuery[Backfill]{store: s, readPage: r.read, isOver: !possible}
}

// backfillReader reads the backfills of a pool for a PoolQuery.
type backfillReader struct{ queryParams query.QueryBackfillsParams }

func (r *backfillReader) read(ctx context.Context, q *query.Queries) (part []Backfill, over bool, err error) {
	rows, err := q.QueryBackfills(ctx, r.queryParams)
	if err != nil {
		return nil, false, err
	}
	bytes := 0
	for _, row := range rows {
		part = append(part, storedBackfill(row.ID, row.Body, row.Generation, row.Created))
		bytes += QueryRowBytes + len(row.Body)
	}
	over = bytes < partBytes
	if !over {
		r.queryParams.After = part[len(part)-1].ID
	}
	return part, over, nil
}
