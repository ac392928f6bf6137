package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// BeginRealtimeReplica records that a process of the director accepts connections of a region's realtime lobby, and
// returns the new replica's id. Errors: Unavailable.
func (s *Store) BeginRealtimeReplica(ctx context.Context, region string) (uuid.UUID, error) {
	return s.beginReplica(ctx, region, faceRealtime)
}

// RenewRealtimeReplica renews the lease of a replica; call it every second. Errors: Superseded (the replica was ended:
// close all connections and call BeginRealtimeReplica for a new id), Unavailable.
func (s *Store) RenewRealtimeReplica(ctx context.Context, region string, id uuid.UUID) error {
	const silence = 0 // is of agents, and this replica has none
	return s.RenewReplica(ctx, region, id, silence)
}

// EndRealtimeReplica ends a replica that stops. Suspend its sessions first: a worker suspends those that are left, and
// lets their rooms know at once. Errors: Unavailable.
func (s *Store) EndRealtimeReplica(ctx context.Context, region string, id uuid.UUID) error {
	return frame.Classify(s.q.EndReplica(ctx, query.EndReplicaParams{Region: region, ID: id}))
}

// EndExpiredRealtimeReplicas ends the replicas of a region's realtime lobby whose lease has expired, and returns their
// number. Their sessions stay connected until [Store.SuspendUnowned] suspends them. Errors: Unavailable.
func (s *Store) EndExpiredRealtimeReplicas(ctx context.Context, region string) (int, error) {
	ended, err := s.q.EndExpiredReplicas(ctx, query.EndExpiredReplicasParams{Region: region, Face: faceRealtime})
	return len(ended), frame.Classify(err)
}

// ForgetRealtimeReplicas deletes the replicas of a region's realtime lobby that ended ten minutes ago. Errors:
// Unavailable.
func (s *Store) ForgetRealtimeReplicas(ctx context.Context, region string) (int, error) {
	n, err := s.q.ForgetReplicas(ctx, query.ForgetReplicasParams{Region: region, Face: faceRealtime})
	return int(n), frame.Classify(err)
}

// RealtimeRegions returns the regions that have sessions or replicas of the realtime lobby. Errors: Unavailable.
func (s *Store) RealtimeRegions(ctx context.Context) ([]ReplicaRegion, error) {
	rows, err := s.q.RealtimeRegions(ctx)
	regions := make([]ReplicaRegion, len(rows))
	for i, r := range rows {
		regions[i] = ReplicaRegion(r)
	}
	return regions, frame.Classify(err)
}
