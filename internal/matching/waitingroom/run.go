package waitingroom

import (
	"context"
	"sync"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
)

// Run asks for seats and records demand until ctx ends. Then it deletes the demand of the players who have left, and
// waits for the calls that run.
func (r *Room) Run(ctx context.Context) {
	capacity, stop := r.store.Subscribe(db.TopicCapacity, "")
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { r.runDemand(ctx) })
	r.beginQueues(ctx)
	follow.Loop{
		Name: "waiting queues", Every: lookEvery, Wakes: follow.Wakes{capacity}, Guard: r.guard,
		Do: func(context.Context, bool) error { r.wakeQueues(); return nil },
	}.Run(ctx)
	running.Wait()
	r.askingQueues.Wait()
}

// beginQueues starts the queues of the players who joined before Run.
func (r *Room) beginQueues(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runContext = ctx
	for _, q := range r.queues {
		q.startAsking()
	}
}

// wakeQueues makes all queues ask again, since there may be capacity.
func (r *Room) wakeQueues() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queues {
		q.hasMissed = false
		q.signalWake()
	}
}
