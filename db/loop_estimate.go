package db

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match/estimate"
)

// WaitingTime is how long tickets of a profile that are queued now will wait, of the tickets whose number is at most
// UpTo and above that of the group before. The number is that by which the loop groups the tickets of the profile for
// its estimates.
type WaitingTime struct {
	UpTo        float64
	P50, P90    time.Duration
	SampleCount int
}

// WaitingTimes returns the waiting times of each profile, by UpTo. Errors: Unavailable.
func (s *Store) WaitingTimes(ctx context.Context, universe string) (map[string][]WaitingTime, error) {
	rows, err := s.q.ProfileStats(ctx, universe)
	all := make(map[string][]WaitingTime, len(rows))
	for _, r := range rows {
		all[r.Profile] = append(all[r.Profile], WaitingTime{r.Upto, r.P50, r.P90, int(r.Samples)})
	}
	return all, frame.Classify(err)
}

// PutWaitingTimes replaces the waiting times of the profiles in times, of each profile by UpTo, and adds the calibrations to
// those of the present hour: how many waits have ended, and how many of them before their estimate. Errors:
// Unavailable.
func (s *Store) PutWaitingTimes(ctx context.Context, universe string, times map[string][]WaitingTime,
	calibrations map[string]estimate.CalibrationCounts) error {
	// Sorted, since all workers lock these rows in the order of their keys.
	p := query.PutProfileStatsParams{Region: universe, All: slices.Sorted(maps.Keys(times))}
	for _, name := range p.All {
		for decile, t := range times[name] {
			p.Profiles = append(p.Profiles, name)
			p.Deciles = append(p.Deciles, int16(decile))
			p.Upto = append(p.Upto, t.UpTo)
			p.P50 = append(p.P50, t.P50)
			p.P90 = append(p.P90, t.P90)
			p.Samples = append(p.Samples, int32(t.SampleCount))
		}
	}
	counts := query.CountEstimatesParams{Region: universe, Profiles: slices.Sorted(maps.Keys(calibrations))}
	for _, name := range counts.Profiles {
		c := calibrations[name]
		counts.Waits = append(counts.Waits, int32(c.WaitCount))
		counts.BeforeP50 = append(counts.BeforeP50, int32(c.BeforeP50))
		counts.BeforeP90 = append(counts.BeforeP90, int32(c.BeforeP90))
	}
	return frame.Classify(s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		query.QueueExec(q.Deferred(), (*query.Queries).PutProfileStats, p)
		if len(counts.Profiles) > 0 {
			query.QueueExec(q.Deferred(), (*query.Queries).CountEstimates, counts)
		}
		return nil
	}))
}
