package worker

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

// waker wakes the loop provision when deployments of a region become due, and when a step has ended that kept others
// waiting.
type waker struct {
	store   *db.Store
	channel chan struct{}
	done    chan struct{}
	follows sync.WaitGroup

	mu       sync.Mutex
	regions  map[string]bool
	stopping bool
}

func newWaker(store *db.Store) *waker {
	// Room for one wake-up: more of them, before the loop looks, are the same.
	return &waker{store: store, channel: make(chan struct{}, 1), done: make(chan struct{}), regions: map[string]bool{}}
}

func (w *waker) now() { wait.Wake(w.channel) }

// follow subscribes to a region, once. Regions are few, and stay.
func (w *waker) follow(region string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// After stop has begun, follows must not grow: it is waited for.
	if w.regions[region] || w.stopping {
		return
	}
	w.regions[region] = true
	woken, stop := w.store.Subscribe(db.TopicDeployments, region)
	w.follows.Go(func() {
		defer stop()
		for {
			select {
			case <-woken:
				w.now()
			case <-w.done:
				return
			}
		}
	})
}

func (w *waker) stop() {
	w.mu.Lock()
	// Closed once, although stop may be called more often.
	stopping := w.stopping
	w.stopping = true
	w.mu.Unlock()
	if !stopping {
		close(w.done)
	}
	w.follows.Wait()
}

// pause waits for d or until the loop is woken; false means that ctx has ended.
func (w *waker) pause(ctx context.Context, d time.Duration) bool {
	_, alive := wait.ForWake(ctx, d, w.channel)
	return alive
}
