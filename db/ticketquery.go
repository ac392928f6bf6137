package db

import (
	"context"

	"github.com/lattice-director/director/match"
)

// QueryTickets gives each ticket that the pool, which passed its Check, chooses: of those that wait and are in no match,
// as of now. Bodies are left out where they are not asked for. What each says ends it. Errors: each's, Unavailable.
func (s *Store) QueryTickets(ctx context.Context, region string, p match.Pool, bodies bool, each func(id string, body []byte) error) error {
	query, some := p.Query()
	if !some {
		return nil
	}
	rows, err := s.askQueue(ctx, region, query, bodies)
	if err != nil {
		return classify(err)
	}
	for _, r := range rows {
		if err := each(r.ID, r.Body); err != nil {
			return err
		}
	}
	return nil
}

// askQueue takes the statement that is quickest for the query: with two ranges at most they are written out in it, and
// without terms it uses no index.
func (s *Store) askQueue(ctx context.Context, region string, query match.Query, bodies bool) ([]QueryRangesRow, error) {
	if len(query.Ranges) > 2 {
		return s.reading.QueryRanges(ctx, s.anyRanges(region, query, bodies))
	}
	p := QueryTermsParams{
		Region: region, Bodies: bodies, Terms: query.Terms, Present: query.Present, PendingFor: s.cfg.Timing.PendingFor,
		CreatedAfter: query.After, CreatedBefore: query.Before,
	}
	if len(query.Ranges) > 0 {
		p.Key1, p.Low1, p.High1 = &query.Ranges[0].Key, query.Ranges[0].Low, query.Ranges[0].High
	}
	if len(query.Ranges) > 1 {
		p.Key2, p.Low2, p.High2 = &query.Ranges[1].Key, query.Ranges[1].Low, query.Ranges[1].High
	}
	if len(query.Terms) > 0 {
		rows, err := s.reading.QueryTerms(ctx, p)
		return sameRows(rows), err
	}
	rows, err := s.reading.QueryQueue(ctx, QueryQueueParams{
		Region: p.Region, Bodies: p.Bodies, Present: p.Present, PendingFor: p.PendingFor, CreatedAfter: p.CreatedAfter, CreatedBefore: p.CreatedBefore,
		Key1: p.Key1, Low1: p.Low1, High1: p.High1, Key2: p.Key2, Low2: p.Low2, High2: p.High2,
	})
	return sameRows(rows), err
}

func (s *Store) anyRanges(region string, query match.Query, bodies bool) QueryRangesParams {
	p := QueryRangesParams{
		Region: region, Bodies: bodies, Terms: query.Terms, Present: query.Present, PendingFor: s.cfg.Timing.PendingFor,
		CreatedAfter: query.After, CreatedBefore: query.Before,
	}
	p.RangeKeys, p.Lows, p.Highs = queryKeys(query.Ranges)
	return p
}

func sameRows[R QueryTermsRow | QueryQueueRow](rows []R) []QueryRangesRow {
	all := make([]QueryRangesRow, 0, len(rows))
	for _, r := range rows {
		all = append(all, QueryRangesRow(r))
	}
	return all
}

// CountTickets tells how many tickets [Store.QueryTickets] would give. Errors: Unavailable.
func (s *Store) CountTickets(ctx context.Context, region string, p match.Pool) (int64, error) {
	query, some := p.Query()
	if !some {
		return 0, nil
	}
	q := s.anyRanges(region, query, false)
	n, err := s.reading.CountTickets(ctx, CountTicketsParams{
		Region: q.Region, Terms: q.Terms, Present: q.Present, PendingFor: q.PendingFor, CreatedAfter: q.CreatedAfter, CreatedBefore: q.CreatedBefore,
		RangeKeys: q.RangeKeys, Lows: q.Lows, Highs: q.Highs,
	})
	return n, classify(err)
}
