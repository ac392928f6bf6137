package ws

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
)

// Set holds the connections of an owner, which can close it and then wait until the last connection is gone. Make it
// with [NewSet]. Safe for concurrent use.
type Set[K comparable, C any] struct {
	mu        sync.Mutex
	conns     map[K]C
	isClosed  bool
	connCount sync.WaitGroup // counts conns
}

// NewSet returns an empty set.
func NewSet[K comparable, C any]() *Set[K, C] { return &Set[K, C]{conns: map[K]C{}} }

// Add returns false if the set was closed.
func (s *Set[K, C]) Add(key K, c C) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		return false
	}
	s.conns[key] = c
	s.connCount.Add(1)
	return true
}

// Remove removes a connection that was added, once.
func (s *Set[K, C]) Remove(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, key)
	s.connCount.Done()
}

// Get returns the connection of a key, the zero value if there is none.
func (s *Set[K, C]) Get(key K) C {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[key]
}

// IsEmpty reports whether the set has no connections.
func (s *Set[K, C]) IsEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns) == 0
}

// Conns returns the connections, in no order.
func (s *Set[K, C]) Conns() []C {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.conns))
}

// Close lets no connection in any more.
func (s *Set[K, C]) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
}

// IsClosed reports whether Close was called.
func (s *Set[K, C]) IsClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isClosed
}

// Wait waits until a closed set is empty.
func (s *Set[K, C]) Wait() { s.connCount.Wait() }

// CloseEvenly calls closeOne for each connection, evenly spaced over a time, so that the clients arrive at other
// replicas as evenly as they leave. It stops early when ctx ends.
func CloseEvenly[C any](ctx context.Context, over time.Duration, conns []C, closeOne func(C)) {
	for i, c := range conns {
		if i > 0 && !wait.For(ctx, over/time.Duration(len(conns))) {
			return
		}
		closeOne(c)
	}
}
