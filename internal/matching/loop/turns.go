package loop

import (
	"slices"
	"sync"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
)

// turns runs turns on a few goroutines, first come, first served. Profiles that used up their last turn, the hot ones,
// never run on all of them, so that another profile begins at once, and always on one, so that many others do not stop
// them. Among themselves the hot ones take turns of equal length.
type turns struct {
	maxRunning int // goroutines at most, at least 2
	guard      *panics.Guard
	turnEnded  chan struct{} // a turn has ended

	mu           sync.Mutex
	light, hot   []*turn // that wait
	runningCount int
	hotRunning   int
	ended        []*turn // whose results are not taken yet
	goroutines   sync.WaitGroup
}

func newTurns(slots int, guard *panics.Guard) *turns {
	return &turns{maxRunning: max(2, slots), guard: guard, turnEnded: make(chan struct{}, 1)}
}

// beginTurn queues a turn.
func (q *turns) beginTurn(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.isHot {
		q.hot = append(q.hot, t)
	} else {
		q.light = append(q.light, t)
	}
	// Otherwise a running goroutine takes the turn when it ends its own.
	if q.runningCount < q.maxRunning {
		q.runningCount++
		q.goroutines.Go(q.runTurns)
	}
}

// runTurns runs turns until none may run.
func (q *turns) runTurns() {
	for t := q.nextTurn(nil); t != nil; t = q.nextTurn(t) {
		t.err = q.guard.Do("director loop", func() error { t.runSteps(); return nil })
	}
}

// nextTurn takes the result of a turn, nil for none, and returns the turn that runs next on this goroutine; nil: it
// ends.
func (q *turns) nextTurn(last *turn) *turn {
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
	// One hot turn may always run. Further ones run while no light one waits, and leave one goroutine free for the
	// next.
	case len(q.hot) > 0 && (q.hotRunning == 0 || len(q.light) == 0 && q.hotRunning < q.maxRunning-1):
		q.hotRunning++
		return shiftTurn(&q.hot)
	case len(q.light) > 0:
		return shiftTurn(&q.light)
	}
	q.runningCount--
	return nil
}

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

// dropAll ends what waits, and waits for what runs.
func (q *turns) dropAll() {
	q.mu.Lock()
	q.light, q.hot = nil, nil
	q.mu.Unlock() // a goroutine locks mu to hand its turn in, and to find that no other waits
	q.goroutines.Wait()
}
