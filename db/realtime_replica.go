package db

import (
	"context"

	"github.com/google/uuid"
)

// BeginRealtimeReplica records that a process of the director accepts connections of a region's realtime lobby, and returns the new replica's
// id. Errors: Unavailable.
func (s *Store) BeginRealtimeReplica(_ context.Context, _ string) (uuid.UUID, error) {
	return uuid.Nil, errNotBuilt
}

// RenewRealtimeReplica renews the lease of a replica; call it every second. Errors: Superseded (the replica was ended: close all connections
// and call BeginRealtimeReplica for a new id), Unavailable.
func (s *Store) RenewRealtimeReplica(_ context.Context, _ string, _ uuid.UUID) error {
	return errNotBuilt
}

// EndRealtimeReplica ends a replica that stops. Suspend its sessions first: a worker suspends those that are left, and announces it at once.
// Errors: Unavailable.
func (s *Store) EndRealtimeReplica(_ context.Context, _ string, _ uuid.UUID) error {
	return errNotBuilt
}
