package realtime

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/internal/base/tenure"
	"github.com/lattice-director/director/server/realtime/delivery"
)

// ensureRegion returns a region, which its first call begins. It returns nil while the server does not run.
func (s *Server) ensureRegion(name string) *region {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.regionsByName[name]; r != nil {
		return r
	}
	// A region that began now would not be among those that Run waits for.
	if s.isDraining || s.runContext == nil || s.runContext.Err() != nil {
		return nil
	}
	r := &region{server: s, name: name, hasReplica: make(chan struct{}), hasEnded: make(chan struct{})}
	r.hub = delivery.NewHub(delivery.HubOptions{
		Region: name, Store: s.store, Feed: s.store.SubscribeRealtime(name), Replica: r.replicaID, Log: s.options.Log,
		Guard: s.guard, Metrics: s.metrics.hub,
	})
	s.regionsByName[name] = r
	// The hub outlives the replicas: what members are sent while their connections are being closed comes from it.
	hubContext, stop := context.WithCancel(s.runContext)
	s.runningLoops.Go(func() { r.hub.Run(hubContext) })
	s.runningLoops.Go(func() {
		defer stop()
		defer close(r.hasEnded)
		r.serveReplicas(s.runContext)
	})
	return r
}

// serveReplicas begins one id after the other until the server stops. It returns after the last one has ended.
func (r *region) serveReplicas(ctx context.Context) {
	tenure.Series[*replica]{
		Begin: r.beginReplica, Hold: func(ctx context.Context, current *replica) bool { return current.holdLease(ctx) },
		Fence: (*replica).closeFenced, End: func(ctx context.Context, current *replica) { current.endReplica(ctx) },
		Retry: func() time.Duration { return retryEvery }, Stopping: r.server.connsClosed,
		Report: r.server.outageLog.Call("begin replica").Report,
	}.Run(ctx)
}

// beginReplica makes the next id of this replica in the region: one that others have ended is never used again.
func (r *region) beginReplica(ctx context.Context) (*replica, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	id, err := r.server.store.BeginRealtimeReplica(ctx, r.name)
	if err != nil {
		return nil, err
	}
	next := newReplica(r, id)
	// The first one: handshakes wait for it. Later ones follow an id that others have ended.
	if r.currentReplica.Swap(next) == nil {
		close(r.hasReplica)
	}
	r.server.options.Log.LogAttrs(ctx, slog.LevelInfo, "realtime replica begins", slog.String("region", r.name),
		slog.String("replica", id.String()))
	return next, nil
}
