package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/batch"
)

// agentChange is one call of a batch; exactly one of its fields is set.
type agentChange struct {
	join     *AgentJoin
	snapshot *AgentSnapshot
	miss     *AgentMiss
	leave    *AgentRef
}

type agentCall = batch.Call[agentChange, AgentState]

// JoinAgent lists an agent with its first full state, or again after it was doubted. If another replica has an agent of
// the same process, name and endpoint, that older agent leaves if its replica has ended; otherwise it is doubted. Rooms
// that both agents report keep their ids. A repeated call with the same arguments changes nothing. Errors: Superseded
// (the agent or the replica has ended: close the connection), Unavailable.
func (s *Store) JoinAgent(ctx context.Context, j AgentJoin) (AgentState, error) {
	return s.batchGroups.agentChanges.Do(ctx, j.Ref.Region, agentChange{join: &j})
}

// ApplySnapshot stores the changes of a later state reply. The calls of ApplySnapshot and AcknowledgeCommand for one
// agent must be made one after the other, in the order in which its messages were received. For a doubted agent,
// ApplySnapshot changes nothing and returns IsDoubted. Errors: Superseded (close the connection), Unavailable.
func (s *Store) ApplySnapshot(ctx context.Context, a AgentSnapshot) (AgentState, error) {
	return s.batchGroups.agentChanges.Do(ctx, a.Ref.Region, agentChange{snapshot: &a})
}

// MarkMissed records that an agent did not answer its last polls, or that it answers again. An agent that missed two is
// stale and gets no rooms. Errors: Superseded (close the connection), Unavailable.
func (s *Store) MarkMissed(ctx context.Context, m AgentMiss) error {
	_, err := s.batchGroups.agentChanges.Do(ctx, m.Ref.Region, agentChange{miss: &m})
	return err
}

// LeaveAgent records that an agent's connection has ended: the agent's rooms are deleted, and its pending commands
// become disconnected. It changes nothing for an agent that has already left. Errors: Unavailable.
func (s *Store) LeaveAgent(ctx context.Context, ref AgentRef) error {
	_, err := s.batchGroups.agentChanges.Do(ctx, ref.Region, agentChange{leave: &ref})
	return err
}

func (c agentChange) ref() AgentRef {
	switch {
	case c.join != nil:
		return c.join.Ref
	case c.snapshot != nil:
		return c.snapshot.Ref
	case c.miss != nil:
		return c.miss.Ref
	}
	return *c.leave
}

func (c agentChange) rooms() (shown []ReportedRoom, removedRawIDs []string) {
	switch {
	case c.join != nil:
		return c.join.ReportedRooms, nil
	case c.snapshot != nil:
		return c.snapshot.ChangedRooms, c.snapshot.RemovedRawIDs
	}
	return nil, nil
}

// weight is the approximate number of rows that a change may write.
func (c agentChange) weight() int {
	shown, removedRawIDs := c.rooms()
	return 1 + len(shown) + len(removedRawIDs)
}

func (c agentChange) bytes() int {
	shown, removedRawIDs := c.rooms()
	n := textBytes(removedRawIDs...)
	for _, r := range shown {
		n += textBytes(r.RawID, r.Type)
	}
	if content := c.content(); content != nil {
		n += content.bytes()
	}
	return n
}

// content returns the new content of the agent; nil: the change has none.
func (c agentChange) content() *AgentContent {
	switch {
	case c.join != nil:
		return &c.join.Content
	case c.snapshot != nil:
		return c.snapshot.Content
	}
	return nil
}

func (c AgentContent) bytes() int {
	n := textBytes(c.Name, c.ProcessUID, c.AgentVersion, c.EndpointURL, c.Status) + textBytes(c.RoomTypes...)
	for k, v := range c.Labels {
		n += textBytes(k, v)
	}
	return n
}
