package fleet

import (
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
)

const (
	// waitersPerInstance is how many calls of one instance may wait at a replica. A further call ends the oldest, whose
	// caller may have lost the connection and must not block new calls.
	waitersPerInstance = 2
	// waitsAtLeast is how long a call waits before another one of its instance may end it. Otherwise three live
	// callers, each of which calls again at once, would end each other's calls as fast as they can call.
	waitsAtLeast = time.Second
)

// waiters bounds the waiting calls. Safe for concurrent use.
type waiters struct {
	maxWaiters int

	mu          sync.Mutex
	waiterCount int
	byInstance  map[string][]*waiter // oldest first
}

type waiter struct {
	instanceID string
	waitsSince time.Time
	displaced  chan struct{} // closed when the call must answer
}

func newWaiters(limit int) *waiters {
	return &waiters{maxWaiters: limit, byInstance: map[string][]*waiter{}}
}

// joinWaiter adds a call that waits from now on. Errors: Unavailable when too many wait.
func (ws *waiters) joinWaiter(instance string, now time.Time) (*waiter, error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if own := ws.byInstance[instance]; len(own) == waitersPerInstance {
		if now.Sub(own[0].waitsSince) < waitsAtLeast {
			return nil, tooManyWait("too many calls of this instance wait for its sessions: use one call at a time")
		}
		// This comes before the bound of the replica: the call that is ended makes room for this one.
		close(own[0].displaced)
		ws.removeLocked(own[0])
	}
	if ws.waiterCount >= ws.maxWaiters {
		return nil, tooManyWait("too many calls wait for sessions on this replica: retry, another replica may have room")
	}
	w := &waiter{instance, now, make(chan struct{})}
	ws.byInstance[instance] = append(ws.byInstance[instance], w)
	ws.waiterCount++
	return w, nil
}

func tooManyWait(detail string) *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: detail, RetryAfter: waitsAtLeast}
}

func (ws *waiters) countWaiting() int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.waiterCount
}

func (ws *waiters) leaveWaiter(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.removeLocked(w)
}

// removeLocked removes a call, if it is still there.
func (ws *waiters) removeLocked(w *waiter) {
	own := ws.byInstance[w.instanceID]
	i := slices.Index(own, w)
	// If a newer call has displaced this one, it was removed then.
	if i < 0 {
		return
	}
	ws.waiterCount--
	own = slices.Delete(own, i, i+1)
	if len(own) == 0 {
		delete(ws.byInstance, w.instanceID) // instances come and go: empty lists would add up
		return
	}
	ws.byInstance[w.instanceID] = own
}
