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
	limit int

	mu         sync.Mutex
	count      int
	byInstance map[string][]*waiter // oldest first
}

type waiter struct {
	instance  string
	since     time.Time
	displaced chan struct{} // closed when the call must answer
}

func newWaiters(limit int) *waiters {
	return &waiters{limit: limit, byInstance: map[string][]*waiter{}}
}

// join adds a call that waits from now on. Errors: Unavailable when too many wait.
func (ws *waiters) join(instance string, now time.Time) (*waiter, error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if own := ws.byInstance[instance]; len(own) == waitersPerInstance {
		if now.Sub(own[0].since) < waitsAtLeast {
			return nil, tooManyWait("too many calls of this instance wait for its sessions: use one call at a time")
		}
		// Before the bound of the replica is checked: the call that is ended makes room for this one.
		close(own[0].displaced)
		ws.remove(own[0])
	}
	if ws.count >= ws.limit {
		return nil, tooManyWait("too many calls wait for sessions on this replica: retry, another replica may have room")
	}
	w := &waiter{instance, now, make(chan struct{})}
	ws.byInstance[instance] = append(ws.byInstance[instance], w)
	ws.count++
	return w, nil
}

func tooManyWait(detail string) *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: detail, RetryAfter: waitsAtLeast}
}

func (ws *waiters) len() int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.count
}

func (ws *waiters) leave(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.remove(w)
}

// remove removes a call, if it is still there.
func (ws *waiters) remove(w *waiter) {
	own := ws.byInstance[w.instance]
	i := slices.Index(own, w)
	if i < 0 {
		return
	}
	ws.count--
	if own = slices.Delete(own, i, i+1); len(own) > 0 {
		ws.byInstance[w.instance] = own
	} else {
		delete(ws.byInstance, w.instance)
	}
}
