package db

import (
	"context"
	"math"
	"time"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match"
)

// QueriedTicket is a ticket in a pool. Body is nil when the query leaves bodies out.
type QueriedTicket struct {
	ID   string
	Body []byte
}

// QueryTickets returns a query of the queued tickets in a pool, which has passed its Check, without those that are in a
// match. It leaves their bodies out unless bodies is true.
func (s *Store) QueryTickets(region string, p match.Pool, bodies bool) *PoolQuery[QueriedTicket] {
	return s.QuerySomeTickets(region, p, bodies, math.MaxInt64)
}

// QuerySomeTickets is [Store.QueryTickets] for up to limit tickets, which it reads in no particular order. limit is at
// least 1.
func (s *Store) QuerySomeTickets(region string, p match.Pool, bodies bool, limit int64) *PoolQuery[QueriedTicket] {
	poolQuery, isPossible := p.Query()
	params := query.QueryInOrderParams{
		Region: region, Bodies: bodies, Terms: poolQuery.Terms, Present: poolQuery.Present,
		PendingFor:   s.cfg.Timing.PendingFor,
		CreatedAfter: poolQuery.CreatedAfter, CreatedBefore: poolQuery.CreatedBefore, Most: partBytes,
		Rows: partBytes / QueryRowBytes,
	}
	ranges := poolQuery.Ranges
	// The first two ranges have parameters of their own: the statements compare these faster than a list.
	if len(ranges) > 0 {
		params.Key1, params.Low1, params.High1 = &ranges[0].Key, ranges[0].Low, ranges[0].High
	}
	if len(ranges) > 1 {
		params.Key2, params.Low2, params.High2 = &ranges[1].Key, ranges[1].Low, ranges[1].High
	}
	params.RangeKeys, params.Lows, params.Highs = rangeParams(ranges[min(2, len(ranges)):])
	r := &ticketReader{queryParams: params, tryIndex: len(poolQuery.Terms) > 0, leftToRead: limit}
	return &PoolQuery[QueriedTicket]{store: s, readPage: r.readPage, isOver: !isPossible}
}

// ticketReader reads the tickets of a pool for a PoolQuery.
type ticketReader struct {
	queryParams query.QueryInOrderParams
	tryIndex    bool  // the pool may be small enough to be read whole by the index of terms: this is tried first
	leftToRead  int64 // tickets until the limit
}

// readPage reads the next tickets. isOver is true with the last ones.
func (r *ticketReader) readPage(ctx context.Context, q *query.Queries) (page []QueriedTicket, isOver bool, err error) {
	if r.tryIndex {
		r.tryIndex = false
		rows, err := q.QueryByTerms(ctx, r.byTerms())
		if err != nil {
			return nil, false, err
		}
		// With fewer bytes, this was the whole pool, or the limit was reached. Otherwise the rows are a part of the
		// pool in no order, and are read again in the order of ids.
		if all, bytes := queriedTickets(rows); bytes < QueryBytes {
			return all, true, nil
		}
	}
	r.queryParams.Rows = min(r.queryParams.Rows, r.leftToRead)
	rows, err := q.QueryInOrder(ctx, r.queryParams)
	if err != nil {
		return nil, false, err
	}
	page, bytes := queriedTickets(rows)
	r.leftToRead -= int64(len(page))
	if bytes < partBytes || r.leftToRead == 0 {
		return page, true, nil
	}
	r.queryParams.After = page[len(page)-1].ID
	return page, false, nil
}

// queriedTickets returns the tickets of rows, and the bytes that they count in a page.
func queriedTickets[R query.QueryByTermsRow | query.QueryInOrderRow](rows []R) (tickets []QueriedTicket, bytes int) {
	tickets = make([]QueriedTicket, 0, len(rows))
	for _, r := range rows {
		t := QueriedTicket(r)
		tickets = append(tickets, t)
		bytes += QueryRowBytes + len(t.Body)
	}
	return tickets, bytes
}

// byTerms returns the parameters for reading the same pool by the index of terms.
func (r *ticketReader) byTerms() query.QueryByTermsParams {
	p := r.queryParams
	return query.QueryByTermsParams{
		Region: p.Region, Bodies: p.Bodies, Terms: p.Terms, Present: p.Present, PendingFor: p.PendingFor,
		CreatedAfter: p.CreatedAfter, CreatedBefore: p.CreatedBefore,
		Key1: p.Key1, Low1: p.Low1, High1: p.High1, Key2: p.Key2, Low2: p.Low2, High2: p.High2, RangeKeys: p.RangeKeys,
		Lows: p.Lows, Highs: p.Highs,
		Most: QueryBytes, Rows: min(QueryBytes/QueryRowBytes, r.leftToRead),
	}
}

// CountTickets returns how many tickets [Store.QueryTickets] would find. Errors: TooMany, Unavailable.
func (s *Store) CountTickets(ctx context.Context, region string, p match.Pool) (n int64, err error) {
	return s.countTickets(ctx, region, p, s.cfg.Timing.PendingFor)
}

// CountQueuedTickets returns how many tickets of a region are queued, those included that are in a match and not yet
// assigned. Errors: TooMany, Unavailable.
func (s *Store) CountQueuedTickets(ctx context.Context, region string) (n int64, err error) {
	const evenPending = 0 // counts as if no ticket were still in a match
	return s.countTickets(ctx, region, match.Pool{}, evenPending)
}

func (s *Store) countTickets(ctx context.Context, region string, p match.Pool,
	pendingFor time.Duration) (n int64, err error) {
	poolQuery, isPossible := p.Query()
	if !isPossible {
		return 0, nil
	}
	params := query.CountTicketsParams{
		Region: region, Terms: poolQuery.Terms, Present: poolQuery.Present, PendingFor: pendingFor,
		CreatedAfter: poolQuery.CreatedAfter, CreatedBefore: poolQuery.CreatedBefore,
	}
	params.RangeKeys, params.Lows, params.Highs = rangeParams(poolQuery.Ranges)
	err = s.read(ctx, func(ctx context.Context, read *query.Queries) error {
		n, err = read.CountTickets(ctx, params)
		return err
	})
	return n, err
}
