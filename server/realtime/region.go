package realtime

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// region is what this replica does for the projects of one region: it has a lease there, and delivers what happens in the region's rooms.
type region struct {
	*Server

	name  string
	hub   *hub
	life  atomic.Pointer[life] // the current one; nil before the database was reached
	begun chan struct{}        // closed when life is set
	ended chan struct{}        // closed when the last life has ended
}

// regionOf returns a region, which it begins with the first call. It returns nil while the server does not run.
func (s *Server) regionOf(name string) *region {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.regions[name]; r != nil {
		return r
	}
	if s.draining || s.life == nil || s.life.Err() != nil {
		return nil
	}
	r := &region{Server: s, name: name, begun: make(chan struct{}), ended: make(chan struct{})}
	r.hub = newHub(hubOptions{
		Region: name, Store: s.store, Feed: s.store.SubscribeRealtime(name), Replica: r.replica, Log: s.options.Log, Guard: s.guard, Metrics: s.metrics.hub,
	})
	s.regions[name] = r
	hub, stop := context.WithCancel(s.life)
	s.loops.Go(func() { r.hub.run(hub) })
	s.loops.Go(func() {
		defer stop()
		defer close(r.ended)
		r.live(s.life)
	})
	return r
}

func (s *Server) allRegions() []*region {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*region, 0, len(s.regions))
	for _, r := range s.regions {
		all = append(all, r)
	}
	return all
}

// replica returns the current id of this replica in the region, or uuid.Nil before it has one.
func (r *region) replica() uuid.UUID {
	if l := r.life.Load(); l != nil {
		return l.id
	}
	return uuid.Nil
}

// current returns the current life. It waits for the first one, and returns nil if that takes too long.
func (r *region) current(ctx context.Context) *life {
	select {
	case <-r.begun:
		return r.life.Load()
	case <-ctx.Done():
		return nil
	}
}

// live begins one life after the other until the server stops. It returns after the last one has ended.
func (r *region) live(ctx context.Context) {
	for ctx.Err() == nil && !r.isStopping() {
		l, err := r.begin(ctx)
		r.trouble.Report(ctx, "begin replica", err)
		if err != nil {
			r.waitToRetry(ctx)
			continue
		}
		r.options.Log.LogAttrs(ctx, slog.LevelInfo, "realtime replica begins", slog.String("region", r.name), slog.String("replica", l.id.String()))
		if l.run(ctx) {
			l.fence()
			continue
		}
		if ctx.Err() != nil {
			l.abandon()
		}
		l.end(ctx)
	}
}

func (r *region) begin(ctx context.Context) (*life, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	id, err := r.store.BeginRealtimeReplica(ctx, r.name)
	if err != nil {
		return nil, err
	}
	l := newLife(r, id)
	if r.life.Swap(l) == nil {
		close(r.begun)
	}
	return l, nil
}

// waitToRetry waits for a second, or until the server stops.
func (s *Server) waitToRetry(ctx context.Context) {
	retry := time.NewTimer(time.Second)
	defer retry.Stop()
	select {
	case <-retry.C:
	case <-s.stopping:
	case <-ctx.Done():
	}
}

func (s *Server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}
