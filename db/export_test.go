package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/batch"
)

// HeldCalls returns how many calls wait for regions to be flipped.
func (s *Store) HeldCalls() int {
	s.heldCalls.mu.Lock()
	defer s.heldCalls.mu.Unlock()
	return s.heldCalls.count
}

// MaxHeldCalls is how many may.
const MaxHeldCalls = maxHeldCalls

// AcknowledgeTogether settles acks of a region in one batch.
func (s *Store) AcknowledgeTogether(ctx context.Context, region string, acks []CommandAck) error {
	var calls []*ackCall
	for _, a := range acks {
		calls = append(calls, batch.NewCall[CommandAck, AgentState](ctx, a))
	}
	return s.acknowledge(ctx, region, calls)
}
