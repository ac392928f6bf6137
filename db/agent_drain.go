package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// KeepDrain drains the game servers with a name and endpoint, including game servers that join later: their status is
// draining, and they get no rooms. It sends connected agents a drain command and does not wait for the acks. It reports
// whether it changed anything. Errors: Unavailable.
func (s *Store) KeepDrain(ctx context.Context, region, name, endpoint, actor string) (bool, error) {
	return s.setKeptDrain(ctx, query.KeepDrainParams{Region: region, Name: name, Endpoint: endpoint, Actor: actor,
		Keep: true})
}

// UnkeepDrain ends a drain that KeepDrain began. It reports whether it changed anything. Errors: Unavailable.
func (s *Store) UnkeepDrain(ctx context.Context, region, name, endpoint, actor string) (bool, error) {
	return s.setKeptDrain(ctx, query.KeepDrainParams{Region: region, Name: name, Endpoint: endpoint, Actor: actor,
		Keep: false})
}

func (s *Store) setKeptDrain(ctx context.Context, p query.KeepDrainParams) (bool, error) {
	var done query.KeepDrainRow
	err := s.frame.InTx(ctx, func(q *query.Queries) (err error) {
		done, err = q.KeepDrain(ctx, p)
		return err
	})
	if err != nil {
		return false, frame.Classify(err)
	}
	s.Notify(TopicFleet, p.Region)
	for _, replica := range done.Replicas {
		s.Notify(TopicReplica(replica), p.Region)
	}
	return done.Changed, nil
}

// RemindKeptDrains sends the drain command again to agents whose drain is kept but whose status is not draining, to at
// most limit agents. It returns the number of commands. Errors: Unavailable.
func (s *Store) RemindKeptDrains(ctx context.Context, region string, limit int) (int, error) {
	replicas, err := s.q.RemindKeptDrains(ctx, query.RemindKeptDrainsParams{Region: region, Most: int64(limit)})
	if err != nil {
		return 0, frame.Classify(err)
	}
	for _, replica := range replicas {
		s.Notify(TopicReplica(replica), region)
	}
	return len(replicas), nil
}
