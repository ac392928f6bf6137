package realtime

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/server/realtime/delivery"
)

// region is what this replica does for the projects of one region: it has a lease there, and delivers what happens in
// the region's rooms.
type region struct {
	server         *Server
	name           string
	hub            *delivery.Hub
	currentReplica atomic.Pointer[replica] // nil before the database was reached
	hasReplica     chan struct{}           // closed when currentReplica is set
	hasEnded       chan struct{}           // closed when the last replica has ended
}

// allRegions returns the regions that have begun.
func (s *Server) allRegions() []*region {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*region, 0, len(s.regionsByName))
	for _, r := range s.regionsByName {
		all = append(all, r)
	}
	return all
}

// replicaID returns the current id of this replica in the region, or uuid.Nil before it has one.
func (r *region) replicaID() uuid.UUID {
	if current := r.currentReplica.Load(); current != nil {
		return current.id
	}
	return uuid.Nil
}

// awaitReplica returns the current replica. It waits for the first one, and returns nil if that takes too long.
func (r *region) awaitReplica(ctx context.Context) *replica {
	select {
	case <-r.hasReplica:
		return r.currentReplica.Load()
	case <-ctx.Done():
		return nil
	}
}

const retryEvery = time.Second // after a call that makes a replica or the profiles has failed
