package db

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
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
	var wasLast bool
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		// Locked, so that of two replicas that stop at the same time the second one sees that no other is live.
		replicas, err := q.LockReplicas(ctx, region)
		if err != nil {
			return err
		}
		isLiveOther := func(r query.LockReplicasRow) bool { return r.Live && r.ID != id }
		wasLast = !slices.ContainsFunc(replicas, isLiveOther)
		if wasLast {
			keep = 0
		}
		return q.EndReplica(ctx, query.EndReplicaParams{Region: region, ID: id, Keep: keep, Alone: wasLast})
	})
	if err != nil {
		return frame.Classify(err)
	}
	s.Notify(TopicFleet, region)
	if !wasLast {
		return nil
	}
	// No replica is left to take the agents over. A worker would end them a second later.
	for {
		ended, err := s.EndAgents(ctx, region)
		if err != nil || ended == 0 {
			return err
		}
	}
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
	Region string
	// HasOnlyReplicas: of AgentRegions, it has neither agents nor commands; of RealtimeRegions, it has no sessions.
	HasOnlyReplicas bool
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

// The faces whose replicas hold connections. Replicas of one face never affect the leases of the other.
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
