package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// BeginReplica records that a process of the director accepts connections of a region's agents, and returns the new
// replica's id. Errors: Unavailable.
func (s *Store) BeginReplica(ctx context.Context, region string) (uuid.UUID, error) {
	id, err := s.beginReplica(ctx, region, faceOrchestrator)
	if err == nil {
		s.Notify(TopicFleet, region)
	}
	return id, err
}

// RenewReplica renews the lease of a replica; call it every second. silence is the longest time since a last reply
// among its agents that have missed no poll, 0 without agents. Errors: Superseded (the replica was ended: close all
// connections and call BeginReplica for a new id), Unavailable.
func (s *Store) RenewReplica(ctx context.Context, region string, id uuid.UUID, silence time.Duration) error {
	renewed, err := s.q.RenewReplica(ctx, query.RenewReplicaParams{Region: region, ID: id, Silence: silence})
	if err == nil && renewed == 0 {
		return fault.New(fault.Superseded, "replica_ended", "the lease of this replica has expired: begin anew")
	}
	return frame.Classify(err)
}

// EndReplica ends a replica that stops. If other replicas are live, its agents stay listed for the time keep, so that
// they can join there. Otherwise they leave at once, and so do the remaining agents of replicas that ended earlier.
// Errors: Unavailable.
func (s *Store) EndReplica(ctx context.Context, region string, id uuid.UUID, keep time.Duration) error {
	var alone bool
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		// if two replicas stop at the same time, the second one must see that no other is live
		others, err := q.LockReplicas(ctx, region)
		if err != nil {
			return err
		}
		alone = noneLives(others, id)
		if alone {
			keep = 0
		}
		return q.EndReplica(ctx, query.EndReplicaParams{Region: region, ID: id, Keep: keep, Alone: alone})
	})
	if err != nil {
		return frame.Classify(err)
	}
	s.Notify(TopicFleet, region)
	// Nobody is left to take the agents over, and a worker would find them a second later.
	for alone {
		ended, err := s.EndAgents(ctx, region)
		if err != nil || ended == 0 {
			return err
		}
	}
	return nil
}

func noneLives(replicas []query.LockReplicasRow, but uuid.UUID) bool {
	for _, r := range replicas {
		if r.Live && r.ID != but {
			return false
		}
	}
	return true
}

// EndExpiredReplicas ends the replicas of a region whose lease has expired, and returns their number. See EndAgents.
// Errors: Unavailable.
func (s *Store) EndExpiredReplicas(ctx context.Context, region string) (int, error) {
	ended, err := s.q.EndExpiredReplicas(ctx, query.EndExpiredReplicasParams{Region: region, Face: faceOrchestrator})
	if err != nil {
		return 0, frame.Classify(err)
	}
	for _, id := range ended {
		s.Notify(TopicReplica(id), region)
		s.Notify(TopicFleet, region)
	}
	return len(ended), nil
}

// ForgetReplicas deletes the replicas of a region that ended ten minutes ago. Errors: Unavailable.
func (s *Store) ForgetReplicas(ctx context.Context, region string) (int, error) {
	n, err := s.q.ForgetReplicas(ctx, query.ForgetReplicasParams{Region: region, Face: faceOrchestrator})
	return int(n), frame.Classify(err)
}

// ReplicaRegion is a region of [Store.AgentRegions] or [Store.RealtimeRegions].
type ReplicaRegion struct {
	Region          string
	HasOnlyReplicas bool // neither agents nor commands, or no sessions
}

// String returns the region's name.
func (r ReplicaRegion) String() string { return r.Region }

// AgentRegions returns the regions that have replicas, agents or commands. Errors: Unavailable.
func (s *Store) AgentRegions(ctx context.Context) ([]ReplicaRegion, error) {
	rows, err := s.q.AgentRegions(ctx)
	regions := make([]ReplicaRegion, len(rows))
	for i, r := range rows {
		regions[i] = ReplicaRegion(r)
	}
	return regions, frame.Classify(err)
}

// OwnAgents holds the changed agents of a replica.
type OwnAgents struct {
	Changed    []OwnAgent
	IsComplete bool   // Changed holds all agents that have not left: any other agent has left
	NextTx     uint64 // for the next call
}

// OwnAgents returns the agents of a replica that changed since an earlier call. since is the Next of that call; 0
// returns all agents. It may return an agent twice. Call it every second, and after notifications of the replica's
// topic. Errors: Unavailable.
func (s *Store) OwnAgents(ctx context.Context, region string, replica uuid.UUID, since uint64) (OwnAgents, error) {
	if since == 0 {
		return s.allOwnAgents(ctx, region, replica)
	}
	var p tx.Pipeline
	var out OwnAgents
	var rows []query.OwnAgentsRow
	queueOldest(&p, &out.NextTx)
	query.Queue(&p, &rows, (*query.Queries).OwnAgents,
		query.OwnAgentsParams{Region: region, Since: since, Replica: replica})
	if err := s.q.Send(ctx, &p); err != nil {
		return OwnAgents{}, frame.Classify(err)
	}
	if out.NextTx < since { // after a failover, another server numbers the transactions differently
		return s.allOwnAgents(ctx, region, replica)
	}
	for _, r := range rows {
		out.Changed = append(out.Changed, ownAgentOf(r))
	}
	return out, nil
}

func (s *Store) allOwnAgents(ctx context.Context, region string, replica uuid.UUID) (OwnAgents, error) {
	var p tx.Pipeline
	var rows []query.AllOwnAgentsRow
	out := OwnAgents{IsComplete: true}
	queueOldest(&p, &out.NextTx)
	query.Queue(&p, &rows, (*query.Queries).AllOwnAgents, query.AllOwnAgentsParams{Region: region, Replica: replica})
	if err := s.q.Send(ctx, &p); err != nil {
		return OwnAgents{}, frame.Classify(err)
	}
	for _, r := range rows {
		out.Changed = append(out.Changed, ownAgentOf(query.OwnAgentsRow(r)))
	}
	return out, nil
}

// queueOldest must be queued before the statement that reads rows, so that the snapshot of that statement is at least
// as new.
func queueOldest(p *tx.Pipeline, into *uint64) {
	query.Queue(p, into, func(q *query.Queries, ctx context.Context, _ struct{}) (uint64, error) {
		return q.OldestTransaction(ctx)
	}, struct{}{})
}

func ownAgentOf(r query.OwnAgentsRow) OwnAgent {
	return OwnAgent{ID: r.AgentID, HasLeft: r.HasLeft,
		State: AgentState{RecordedStatus: echoedStatus(r.Status), OwesSnapshot: r.OwesReply,
			JoinedElsewhere: r.Doubted}}
}

// echoedStatus returns the status that polls carry. An agent's drain is complete when a poll carries draining.
func echoedStatus(effective string) string {
	if effective == AgentDraining {
		return AgentDraining
	}
	return AgentActive
}

// Faces whose replicas hold connections. Replicas of one face never affect the leases of the other.
const (
	faceOrchestrator = "orchestrator"
	faceRealtime     = "realtime"
)

func (s *Store) beginReplica(ctx context.Context, region, face string) (uuid.UUID, error) {
	id := uuid.New()
	if err := s.q.BeginReplica(ctx, query.BeginReplicaParams{Region: region, ID: id, Face: face}); err != nil {
		return uuid.Nil, frame.Classify(err)
	}
	return id, nil
}
