package loop

import (
	"slices"
	"sync"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

// turns runs turns on a few goroutines, first come, first served. Profiles that used up their last turn are hot, the
// others light. Hot ones never run on all goroutines, so that a light one begins at once, and may always run on one, so
// that many light ones do not stop them. Among themselves the hot ones take turns of equal length.
type turns struct {
	maxRunning int // bounds the goroutines; at least 2
	guard      *panics.Guard
	turnEnded  chan struct{} // wakes the loop: a turn has ended
	goroutines sync.WaitGroup

	mu           sync.Mutex // guards the fields below
	light, hot   []*turn    // that wait
	runningCount int        // goroutines
	hotRunning   int        // hot turns that run
	ended        []*turn    // whose results are not taken yet
}

func newTurns(maxRunning int, guard *panics.Guard) *turns {
	return &turns{maxRunning: max(2, maxRunning), guard: guard, turnEnded: make(chan struct{}, 1)}
}

// queueTurn queues a turn.
func (q *turns) queueTurn(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.isHot {
		q.hot = append(q.hot, t)
	} else {
		q.light = append(q.light, t)
	}
	// Otherwise a goroutine takes the turn when the one that it runs has ended.
	if q.runningCount < q.maxRunning {
		q.runningCount++
		q.goroutines.Go(q.runTurns)
	}
}

// runTurns runs turns until none may run.
func (q *turns) runTurns() {
	for t := q.exchangeTurn(nil); t != nil; t = q.exchangeTurn(t) {
		t.err = q.guard.Do("director loop", func() error { t.runSteps(); return nil })
	}
}

// exchangeTurn takes the result of the turn that has ended on this goroutine, nil for none, and returns the one that
// runs next on it; nil: the goroutine ends.
func (q *turns) exchangeTurn(last *turn) *turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last != nil {
		if last.isHot {
			q.hotRunning--
		}
		q.ended = append(q.ended, last)
		wait.Wake(q.turnEnded)
	}
	switch {
	// One hot turn may always run. Further ones run while no light one waits, and leave one goroutine for the next light
	// one.
	case len(q.hot) > 0 && (q.hotRunning == 0 || len(q.light) == 0 && q.hotRunning < q.maxRunning-1):
		q.hotRunning++
		return shiftTurn(&q.hot)
	case len(q.light) > 0:
		return shiftTurn(&q.light)
	}
	q.runningCount--
	return nil
}

// shiftTurn takes the first turn off a queue.
func shiftTurn(queue *[]*turn) *turn {
	first := (*queue)[0]
	*queue = slices.Delete(*queue, 0, 1)
	return first
}

// takeEnded returns the turns that have ended since the last call.
func (q *turns) takeEnded() (ended []*turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended, q.ended = q.ended, nil
	return ended
}

// dropAll drops the turns that wait, and waits for those that run.
func (q *turns) dropAll() {
	q.mu.Lock()
	q.light, q.hot = nil, nil
	q.mu.Unlock() // the goroutines need mu to end
	q.goroutines.Wait()
}
