// Package faultqueue holds what the fakes of providers' APIs share: faults that wait for later calls, and a gate that
// blocks answers.
package faultqueue

import (
	"context"
	"sync"
)

// Queue holds the faults of type F of later calls, by operation. The zero value is empty; the zero value of F means no
// fault. Safe for concurrent use. Fakes embed it.
type Queue[F any] struct {
	mu     sync.Mutex
	faults map[string][]F
	gate   chan struct{} // closed by unblock; nil: calls are not blocked
}

// QueueFaults keeps faults for the next calls of an operation, one for each call.
func (q *Queue[F]) QueueFaults(op string, faults ...F) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.faults == nil {
		q.faults = map[string][]F{}
	}
	q.faults[op] = append(q.faults[op], faults...)
}

// Take removes and returns the fault of this call of an operation.
func (q *Queue[F]) Take(op string) (fault F) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if queue := q.faults[op]; len(queue) > 0 {
		fault, q.faults[op] = queue[0], queue[1:]
	}
	return fault
}

// Drain removes the faults that no call has met.
func (q *Queue[F]) Drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.faults)
}

// Block makes calls hang, after they were executed, until unblock is called or their clients leave.
func (q *Queue[F]) Block() (unblock func()) {
	gate := make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gate = gate
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.gate = nil
		close(gate)
	})
}

// WaitWhileBlocked waits until calls are no longer blocked, or ctx ends.
func (q *Queue[F]) WaitWhileBlocked(ctx context.Context) {
	q.mu.Lock()
	gate := q.gate
	q.mu.Unlock()
	if gate == nil {
		return
	}
	select {
	case <-gate:
	case <-ctx.Done():
	}
}
