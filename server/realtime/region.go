package realtime

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/base/follow"
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

const retryEvery = time.Second

// ensureProfiles makes the built-in profiles of the queue, as soon as the database can be reached.
func (s *Server) ensureProfiles(ctx context.Context) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	follow.Loop{
		Name: "realtime profiles", Every: retryEvery, Timeout: s.options.timing.callTimeout, Guard: s.guard,
		Do: func(ctx context.Context, _ bool) error {
			err := s.store.EnsureRealtimeProfiles(ctx, s.options.Universe)
			s.outageLog.Report(ctx, "make the built-in profiles", err)
			// One success is enough: the profiles stay in the database.
			if err == nil {
				done()
			}
			return err
		},
	}.Run(ctx)
}
