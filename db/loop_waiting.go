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

// HostRegion is a game region with instances of a mode.
type HostRegion struct {
	Region, Mode string
	FreeSeats    int // of the instance that has most; 0 where no instance takes a session
	AllFreeSeats int // of all instances
}

// HostRegions returns the game regions that have instances of the modes, by region and mode. Errors: Unavailable.
func (s *Store) HostRegions(ctx context.Context, modes []string) ([]HostRegion, error) {
	rows, err := s.q.HostRegions(ctx, modes)
	regions := make([]HostRegion, 0, len(rows))
	for _, r := range rows {
		regions = append(regions, HostRegion{r.Region, r.Mode, int(r.FreeSeats), int(r.AllFreeSeats)})
	}
	return regions, frame.Classify(err)
}

// Demand is what matches of a profile wait for in a game region.
type Demand struct {
	Region, Mode string
	Key          string // the profile, "/", the seats of its sessions, "/", the universe
	MatchCount   int
	PlayerCount  int
	LongestWait  time.Duration // of the match that has waited longest
}

// PutDemand replaces what matches of these profiles of a universe wait for. Errors: Unavailable.
func (s *Store) PutDemand(ctx context.Context, universe string, profiles []string, demand []Demand) error {
	p := query.PutDemandParams{Universe: universe, Profiles: profiles}
	for _, d := range demand {
		p.Regions = append(p.Regions, d.Region)
		p.Modes = append(p.Modes, d.Mode)
		p.Keys = append(p.Keys, d.Key)
		p.Matches = append(p.Matches, int32(d.MatchCount))
		p.Players = append(p.Players, int32(d.PlayerCount))
		p.Waits = append(p.Waits, d.LongestWait)
	}
	return frame.Classify(s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error { return q.PutDemand(ctx, p) }))
}

// PutWaitingTimes replaces the waiting times of the profiles in times, and adds how good they were to the present hour.
// Errors: Unavailable.
func (s *Store) PutWaitingTimes(ctx context.Context, region string, times map[string][]WaitingTime,
	records map[string]estimate.Record) error {
	// In the order of the keys, in which all workers lock these rows.
	p := query.PutProfileStatsParams{Region: region, All: slices.Sorted(maps.Keys(times))}
	for _, name := range p.All {
		for i, t := range times[name] {
			p.Profiles = append(p.Profiles, name)
			p.Deciles = append(p.Deciles, int16(i))
			p.Upto = append(p.Upto, t.UpTo)
			p.P50 = append(p.P50, t.P50)
			p.P90 = append(p.P90, t.P90)
			p.Samples = append(p.Samples, int32(t.SampleCount))
		}
	}
	counts := query.CountEstimatesParams{Region: region, Profiles: slices.Sorted(maps.Keys(records))}
	for _, name := range counts.Profiles {
		r := records[name]
		counts.Waits = append(counts.Waits, int32(r.WaitCount))
		counts.BeforeP50 = append(counts.BeforeP50, int32(r.BeforeP50))
		counts.BeforeP90 = append(counts.BeforeP90, int32(r.BeforeP90))
	}
	return frame.Classify(s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		batch := q.Deferred()
		query.QueueExec(batch, (*query.Queries).PutProfileStats, p)
		if len(counts.Profiles) > 0 {
			query.QueueExec(batch, (*query.Queries).CountEstimates, counts)
		}
		return nil
	}))
}

// MoveTickets records that tickets entered a state, which their players see. Tickets that left the queue are left out.
// Errors: Unavailable.
func (s *Store) MoveTickets(ctx context.Context, universe string, state TicketState, ids []string,
	reason string) error {
	if len(ids) == 0 {
		return nil
	}
	p := query.MoveTicketsParams{Region: universe, State: string(state), Ids: ids}
	for range ids {
		p.Reasons = append(p.Reasons, reason)
	}
	err := s.frame.InBulkTxWithRetries(ctx,
		func(q *query.Queries) error { _, err := q.MoveTickets(ctx, p); return err })
	// Also after an error, behind which the transaction may be committed.
	s.Notify(TopicTicketEvents, universe)
	return frame.Classify(err)
}
