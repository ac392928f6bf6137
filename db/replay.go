package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// PastRange selects the history of a profile between two times.
type PastRange struct {
	Region, ProfileName string
	From, Until         time.Time
}

const (
	// replayPage is the number of rows in a page of history, some MiB.
	replayPage = 5000
	// maxShortages bounds the waits for servers that one replay holds in memory.
	maxShortages = 100_000
)

// PastTickets calls f with the tickets that were in the queue between the times of p and have left it, in the order of
// their creation. It keeps one page in memory and no transaction open. Errors: Unavailable; the first error of f, which
// ends the calls.
func (s *Store) PastTickets(ctx context.Context, p PastRange, f func(query.ReplayTicketsRow) error) error {
	arg := query.ReplayTicketsParams{Region: p.Region, Profile: p.ProfileName, Since: p.From, Until: p.Until,
		After: time.Unix(0, 0), Page: replayPage}
	return eachPast(func() ([]query.ReplayTicketsRow, error) { return s.q.ReplayTickets(ctx, arg) },
		func(row query.ReplayTicketsRow) error {
			arg.After, arg.AfterID = row.Created, row.ID
			return f(row)
		})
}

// eachPast calls f with each row of the pages that read returns, until a page is not full. f must advance the start of
// the next page.
func eachPast[Row any](read func() ([]Row, error), f func(Row) error) error {
	for {
		page, err := read()
		if err != nil {
			return frame.Classify(err)
		}
		for _, row := range page {
			if err := f(row); err != nil {
				return err
			}
		}
		if len(page) < replayPage {
			return nil
		}
	}
}

// PastMatches calls f with the matches that were committed between the times of p, in that order. It keeps one page in
// memory and no transaction open. Errors: Unavailable; the first error of f, which ends the calls.
func (s *Store) PastMatches(ctx context.Context, p PastRange, f func(query.ReplayMatchesRow) error) error {
	arg := query.ReplayMatchesParams{Region: p.Region, Profile: p.ProfileName, Since: p.From, Until: p.Until,
		After: time.Unix(0, 0), Page: replayPage}
	return eachPast(func() ([]query.ReplayMatchesRow, error) { return s.q.ReplayMatches(ctx, arg) },
		func(row query.ReplayMatchesRow) error {
			arg.After, arg.AfterID = row.CommittedAt, row.ID
			return f(row)
		})
}

// PastVersions returns the versions of the profile that made matches, with the seeds of their random choices, those
// with the most matches first. Errors: Unavailable.
func (s *Store) PastVersions(ctx context.Context, p PastRange) ([]query.ReplayVersionsRow, error) {
	rows, err := s.q.ReplayVersions(ctx,
		query.ReplayVersionsParams{Region: p.Region, Profile: p.ProfileName, Since: p.From, Until: p.Until})
	return rows, frame.Classify(err)
}

// PastRegions returns the game regions in which matches were or could have been played. Errors: Unavailable.
func (s *Store) PastRegions(ctx context.Context, p PastRange) ([]string, error) {
	names, err := s.q.ReplayRegions(ctx,
		query.ReplayRegionsParams{Region: p.Region, Profile: p.ProfileName, Since: p.From, Until: p.Until})
	return names, frame.Classify(err)
}

// PastShortages returns the matches that waited for a server for longer than longerThan, at most 100,000. Errors:
// Unavailable.
func (s *Store) PastShortages(ctx context.Context, p PastRange,
	longerThan time.Duration) ([]query.ReplayShortagesRow, error) {
	rows, err := s.q.ReplayShortages(ctx, query.ReplayShortagesParams{
		Region: p.Region, Profile: p.ProfileName, Since: p.From, Until: p.Until, Longer: longerThan, Page: maxShortages,
	})
	return rows, frame.Classify(err)
}

// HistoryBegins returns when the first ticket of the history left the queue; zero: there is no history. Errors:
// Unavailable.
func (s *Store) HistoryBegins(ctx context.Context, region string) (time.Time, error) {
	begins, err := s.q.ReplayHistory(ctx, region)
	if err != nil {
		return time.Time{}, frame.Classify(err)
	}
	// The statement returns the epoch where there is no history.
	if begins.Unix() <= 0 {
		return time.Time{}, nil
	}
	return begins, nil
}
