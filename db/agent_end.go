package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// These limit a transaction of EndAgents, which locks agents and reads all their rooms.
const (
	maxEndedAgents = 256
	maxEndedRooms  = 20_000
)

// EndAgents ends agents whose replica has ended and whose time to join another replica is over. It returns their
// number: up to 256, fewer if they have many rooms, and 0 if none are left. It skips agents that another transaction
// has locked. Errors: Unavailable.
func (s *Store) EndAgents(ctx context.Context, region string) (ended int, err error) {
	_, err = s.onAgents(ctx, region, s.frame.InBulkTx, func(t *agentTx) error {
		// Locks the agents that it returns, and leaves out those that others have locked: a worker must not wait for an
		// agent that is joining another replica.
		rows, err := t.q.AgentsToEnd(ctx, query.AgentsToEndParams{Region: region, Most: maxEndedAgents})
		if err != nil {
			return err
		}
		ids := limitedByRooms(rows)
		ended = len(ids)
		if ended == 0 {
			return nil
		}
		if err := t.read(ctx, agentReading{lockedIDs: ids, wholeIDs: ids}); err != nil {
			return err
		}
		for _, id := range ids {
			t.leave(t.agentsByID[id])
		}
		return nil
	})
	return ended, frame.Classify(err)
}

// limitedByRooms returns the first agents that together have at most maxEndedRooms rooms, but at least one agent.
func limitedByRooms(rows []query.AgentsToEndRow) (ids []string) {
	var rooms int32
	for _, r := range rows {
		rooms += r.Rooms
		if rooms > maxEndedRooms && len(ids) > 0 {
			break
		}
		ids = append(ids, r.AgentID)
	}
	return ids
}

// ForgetAgents deletes up to limit agents that left at least ten minutes ago, and returns how many. Errors:
// Unavailable.
func (s *Store) ForgetAgents(ctx context.Context, region string, limit int) (int, error) {
	n, err := s.q.ForgetAgents(ctx, query.ForgetAgentsParams{Region: region, Most: int64(limit)})
	return int(n), frame.Classify(err)
}
