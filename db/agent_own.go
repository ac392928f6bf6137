package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// OwnAgentChanges are the agents of a replica that have changed.
type OwnAgentChanges struct {
	Changed    []OwnAgent
	IsComplete bool   // Changed holds all agents that have not left: any other agent has left
	NextTx     uint64 // since of the next call
}

// OwnAgents returns the agents of a replica that changed since an earlier call. since is the NextTx that this call
// returned; 0 returns all agents. Two calls may return the same change. Call OwnAgents every second, and after
// notifications of the replica's topic. Errors: Unavailable.
func (s *Store) OwnAgents(ctx context.Context, region string, replica uuid.UUID,
	since uint64) (OwnAgentChanges, error) {
	if since == 0 {
		return s.allOwnAgents(ctx, region, replica)
	}
	var p tx.Pipeline
	var out OwnAgentChanges
	var rows []query.OwnAgentsRow
	queueOldest(&p, &out.NextTx)
	query.Queue(&p, &rows, (*query.Queries).OwnAgents,
		query.OwnAgentsParams{Region: region, Since: since, Replica: replica})
	if err := s.q.Send(ctx, &p); err != nil {
		return OwnAgentChanges{}, frame.Classify(err)
	}
	// After a failover, the new server may number the transactions differently.
	if out.NextTx < since {
		return s.allOwnAgents(ctx, region, replica)
	}
	for _, r := range rows {
		out.Changed = append(out.Changed, ownAgentOf(r))
	}
	return out, nil
}

func (s *Store) allOwnAgents(ctx context.Context, region string, replica uuid.UUID) (OwnAgentChanges, error) {
	var p tx.Pipeline
	var rows []query.AllOwnAgentsRow
	out := OwnAgentChanges{IsComplete: true}
	queueOldest(&p, &out.NextTx)
	query.Queue(&p, &rows, (*query.Queries).AllOwnAgents, query.AllOwnAgentsParams{Region: region, Replica: replica})
	if err := s.q.Send(ctx, &p); err != nil {
		return OwnAgentChanges{}, frame.Classify(err)
	}
	for _, r := range rows {
		out.Changed = append(out.Changed, ownAgentOf(query.OwnAgentsRow(r)))
	}
	return out, nil
}

// queueOldest queues a read of the oldest transaction that runs. Queue it before the statement that reads rows, whose
// snapshot is then at least as new: what it misses has this number or a later one.
func queueOldest(p *tx.Pipeline, into *uint64) {
	query.Queue(p, into, func(q *query.Queries, ctx context.Context, _ struct{}) (uint64, error) {
		return q.OldestTransaction(ctx)
	}, struct{}{})
}

func ownAgentOf(r query.OwnAgentsRow) OwnAgent {
	return OwnAgent{ID: r.AgentID, HasLeft: r.HasLeft,
		State: AgentState{RecordedStatus: echoedStatus(r.Status), OwesSnapshot: r.OwesReply,
			IsDoubted: r.Doubted}}
}

// echoedStatus returns the status that polls send to an agent, by the recorded one. The agent knows that it drains once
// a poll says so.
func echoedStatus(recorded string) string {
	if recorded == AgentDraining {
		return AgentDraining
	}
	return AgentActive
}
