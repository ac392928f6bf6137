package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// HostRegion is a game region with instances of a mode.
type HostRegion struct {
	Region, Mode string
	FreeSeats    int // of the instance with the most free seats; 0 where no instance takes a session
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

// PutDemand replaces the demand of these profiles of a universe. Errors: Unavailable.
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
