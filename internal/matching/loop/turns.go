package loop

import (
	"slices"
	"sync"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

// turns runs turns on a few goroutines, first come, first served. Profiles that used up their last turn, the hot ones, never run on all of
// them, so that another profile begins at once, and always on one, so that many others do not stop them. Among themselves the hot ones
// take turns of equal length.
type turns struct {
	slots int // goroutines at most, at least 2
	guard *panics.Guard
	wake  chan struct{} // a turn has ended

	mu         sync.Mutex
	light, hot []*turn // that wait
	running    int
	hotRunning int
	ended      []*turn // whose results are not taken yet
	working    sync.WaitGroup
}

func newTurns(slots int, guard *panics.Guard) *turns {
	return &turns{slots: max(2, slots), guard: guard, wake: make(chan struct{}, 1)}
}

// begin queues a turn.
func (q *turns) begin(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.hot {
		q.hot = append(q.hot, t)
	} else {
		q.light = append(q.light, t)
	}
	if q.running < q.slots {
		q.running++
		q.working.Go(q.work)
	}
}

// work runs turns until none may run.
func (q *turns) work() {
	for t := q.next(nil); t != nil; t = q.next(t) {
		t.err = q.guard.Do("director loop", func() error { t.run(); return nil })
	}
}

// next takes the result of a turn, nil for none, and returns the turn that runs next on this goroutine; nil: it ends.
func (q *turns) next(last *turn) *turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last != nil {
		if last.hot {
			q.hotRunning--
		}
		q.ended = append(q.ended, last)
		wait.Wake(q.wake)
	}
	switch {
	case len(q.hot) > 0 && (q.hotRunning == 0 || len(q.light) == 0 && q.hotRunning < q.slots-1):
		q.hotRunning++
		return shift(&q.hot)
	case len(q.light) > 0:
		return shift(&q.light)
	}
	q.running--
	return nil
}

func shift(queue *[]*turn) *turn {
	first := (*queue)[0]
	*queue = slices.Delete(*queue, 0, 1)
	return first
}

// take returns the turns that have ended since the last call.
func (q *turns) take() (ended []*turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended, q.ended = q.ended, nil
	return ended
}

// drop ends what waits, and waits for what runs.
func (q *turns) drop() {
	q.mu.Lock()
	q.light, q.hot = nil, nil
	q.mu.Unlock()
	q.working.Wait()
}
