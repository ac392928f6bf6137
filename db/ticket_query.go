package db

import (
	"context"

	"github.com/lattice-director/director/match"
)

const (
	// QueryBytes bounds, in bytes, what one reading of a query returns: the rows, at [QueryRowBytes] and the body each, up to the one
	// that reaches it. A multiple of it, because a pool that is found by its terms is read in one go if it is no larger than that.
	QueryBytes = 8 << 20
	// QueryRowBytes is what a row counts besides its body.
	QueryRowBytes = 32

	// partBytes bounds the readings in the order of ids, of which a large pool takes many.
	partBytes = QueryBytes / 2
)

// QueriedTicket is a ticket that a pool holds. Body is nil where it was not asked for.
type QueriedTicket struct {
	ID   string
	Body []byte
}

// TicketQuery reads a pool part by part. Each part is a short reading of its own: nothing is held in the database between two,
// so that a caller may take its time. It is not safe for concurrent use.
type TicketQuery struct {
	store   *Store
	params  QueryInOrderParams
	indexed bool // to be tried first: the pool may be small
	over    bool
}

// QueryTickets returns the query of what the pool, which passed its Check, holds of the tickets that wait and are in no match. Bodies
// are left out where they are not asked for.
func (s *Store) QueryTickets(region string, p match.Pool, bodies bool) *TicketQuery {
	query, some := p.Query()
	params := QueryInOrderParams{
		Region: region, Bodies: bodies, Terms: query.Terms, Present: query.Present, PendingFor: s.cfg.Timing.PendingFor,
		CreatedAfter: query.After, CreatedBefore: query.Before, Most: partBytes, Rows: partBytes / QueryRowBytes,
	}
	if len(query.Ranges) > 0 {
		params.Key1, params.Low1, params.High1 = &query.Ranges[0].Key, query.Ranges[0].Low, query.Ranges[0].High
	}
	if len(query.Ranges) > 1 {
		params.Key2, params.Low2, params.High2 = &query.Ranges[1].Key, query.Ranges[1].Low, query.Ranges[1].High
	}
	params.RangeKeys, params.Lows, params.Highs = queryKeys(query.Ranges[min(2, len(query.Ranges)):])
	return &TicketQuery{store: s, params: params, indexed: len(query.Terms) > 0, over: !some}
}

// Next returns the next part, nil when there is no more. A ticket is in one part at most. One that is in the pool from the first call
// to the last is in one; one that comes or goes meanwhile may be. Errors: TooMany when the connections for readings are
// all taken, Unavailable.
func (q *TicketQuery) Next(ctx context.Context) (part []QueriedTicket, err error) {
	if q.over {
		return nil, nil
	}
	err = q.store.read(ctx, func(ctx context.Context, read *Queries) error {
		part, err = q.next(ctx, read)
		return err
	})
	return part, err
}

func (q *TicketQuery) next(ctx context.Context, read *Queries) ([]QueriedTicket, error) {
	if q.indexed {
		q.indexed = false
		part, err := read.QueryByTerms(ctx, q.byTerms())
		if tickets, bytes := queried(part); err != nil || bytes < QueryBytes {
			q.over = err == nil
			return tickets, err
		}
	}
	part, err := read.QueryInOrder(ctx, q.params)
	tickets, bytes := queried(part)
	if q.over = bytes < partBytes; !q.over {
		q.params.After = tickets[len(tickets)-1].ID
	}
	return tickets, err
}

// queried gives the rows, and the bytes that they count.
func queried[R QueryByTermsRow | QueryInOrderRow](rows []R) (tickets []QueriedTicket, bytes int) {
	tickets = make([]QueriedTicket, 0, len(rows))
	for _, r := range rows {
		t := QueriedTicket(r)
		tickets = append(tickets, t)
		bytes += QueryRowBytes + len(t.Body)
	}
	return tickets, bytes
}

// byTerms are the parameters of the same pool found by its terms.
func (q *TicketQuery) byTerms() QueryByTermsParams {
	p := q.params
	return QueryByTermsParams{
		Region: p.Region, Bodies: p.Bodies, Terms: p.Terms, Present: p.Present, PendingFor: p.PendingFor, CreatedAfter: p.CreatedAfter, CreatedBefore: p.CreatedBefore,
		Key1: p.Key1, Low1: p.Low1, High1: p.High1, Key2: p.Key2, Low2: p.Low2, High2: p.High2, RangeKeys: p.RangeKeys, Lows: p.Lows, Highs: p.Highs,
		Most: QueryBytes, Rows: QueryBytes / QueryRowBytes,
	}
}

// CountTickets returns how many tickets [Store.QueryTickets] would find. Errors: TooMany, Unavailable.
func (s *Store) CountTickets(ctx context.Context, region string, p match.Pool) (n int64, err error) {
	query, some := p.Query()
	if !some {
		return 0, nil
	}
	params := CountTicketsParams{
		Region: region, Terms: query.Terms, Present: query.Present, PendingFor: s.cfg.Timing.PendingFor, CreatedAfter: query.After, CreatedBefore: query.Before,
	}
	params.RangeKeys, params.Lows, params.Highs = queryKeys(query.Ranges)
	err = s.read(ctx, func(ctx context.Context, read *Queries) error {
		n, err = read.CountTickets(ctx, params)
		return err
	})
	return n, err
}
