package worker

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

// waker wakes the provisioning loop when deployments of a region become due, and when a step has ended that kept others
// waiting.
type waker struct {
	store     *db.Store
	wakeUp    chan struct{}
	done      chan struct{}
	followers sync.WaitGroup

	mu              sync.Mutex
	followedRegions map[string]bool
	isStopping      bool
}

func newWaker(store *db.Store) *waker {
	// Room for one wake-up: more of them, before the loop looks, are the same.
	return &waker{store: store, wakeUp: make(chan struct{}, 1), done: make(chan struct{}),
		followedRegions: map[string]bool{}}
}

func (w *waker) wakeNow() { wait.Wake(w.wakeUp) }

// followRegion subscribes to a region, once. Regions are few, and stay.
func (w *waker) followRegion(region string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Once stopFollowing has begun, no follower may be added: it waits for all of them.
	if w.followedRegions[region] || w.isStopping {
		return
	}
	w.followedRegions[region] = true
	woken, stop := w.store.Subscribe(db.TopicDeployments, region)
	w.followers.Go(func() {
		defer stop()
		for {
			select {
			case <-woken:
				w.wakeNow()
			case <-w.done:
				return
			}
		}
	})
}

func (w *waker) stopFollowing() {
	w.mu.Lock()
	// done is closed once, however often this is called.
	stopping := w.isStopping
	w.isStopping = true
	w.mu.Unlock()
	if !stopping {
		close(w.done)
	}
	w.followers.Wait()
}

// waitForWake waits for d or until the loop is woken; false means that ctx has ended. It waits for longer until
// the first region is followed.
func (w *waker) waitForWake(ctx context.Context, d time.Duration) bool {
	if !w.hasFollowedAny() {
		d = max(d, noRegionsPause)
	}
	_, alive := wait.ForWake(ctx, d, w.wakeUp)
	return alive
}

func (w *waker) hasFollowedAny() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.followedRegions) > 0
}
