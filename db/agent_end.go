package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// A transaction that ends agents reads all their rooms.
const (
	endedAgents = 256
	endedRooms  = 20_000
)

// EndAgents ends agents whose replica has ended and whose time to join another replica is over. It returns their
// number: up to 256, fewer if they have many rooms, and 0 if none are left. It skips agents that another transaction
// has locked. Errors: Unavailable.
func (s *Store) EndAgents(ctx context.Context, region string) (ended int, err error) {
	err = s.onAgents(ctx, region, true, func(t *agentTx) error {
		// Locks the agents that it returns, and leaves out those that others have locked: a worker must not wait for an
		// agent that is joining elsewhere.
		rows, err := t.q.AgentsToEnd(ctx, query.AgentsToEndParams{Region: region, Most: endedAgents})
		ids := withinRooms(rows)
		ended = len(ids)
		if err != nil || ended == 0 {
			return err
		}
		if err := t.read(ctx, ids, ids, nil, query.ReadRoomsParams{}); err != nil {
			return err
		}
		for _, id := range ids {
			t.leave(t.agentsByID[id])
		}
		return nil
	})
	return ended, frame.Classify(err)
}

// withinRooms returns the first agents that together have at most endedRooms rooms, but at least one agent.
func withinRooms(rows []query.AgentsToEndRow) (ids []string) {
	var rooms int32
	for _, r := range rows {
		rooms += r.Rooms
		if rooms > endedRooms && len(ids) > 0 {
			break
		}
		ids = append(ids, r.AgentID)
	}
	return ids
}

// ForgetAgents deletes agents that left ten minutes ago, at most the given number, and returns how many. Errors:
// Unavailable.
func (s *Store) ForgetAgents(ctx context.Context, region string, most int) (int, error) {
	n, err := s.q.ForgetAgents(ctx, query.ForgetAgentsParams{Region: region, Most: int64(most)})
	return int(n), frame.Classify(err)
}
