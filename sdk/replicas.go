package sdk

import (
	"math/rand/v2"
	"sync"
	"time"
)

// restAfterFailure is how long a replica that could not be reached is passed over: about what a restart takes.
const restAfterFailure = 2 * time.Second

// replicas hands out base URLs in turn, passing over those that were not reachable a moment ago. It starts at a random
// one, so that a fleet started at once does not call one replica in step.
type replicas struct {
	mu   sync.Mutex
	all  []*replica
	next int
}

type replica struct {
	base      string
	restUntil time.Time
}

func newReplicas(bases []string) *replicas {
	r := &replicas{next: rand.IntN(len(bases))}
	for _, base := range bases {
		r.all = append(r.all, &replica{base: base})
	}
	return r
}

func (r *replicas) count() int { return len(r.all) }

// pick returns the next replica that is not resting or, when all are, the one whose rest ends first.
func (r *replicas) pick(now time.Time) *replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	best := r.all[r.next]
	for i := range r.all {
		candidate := r.all[(r.next+i)%len(r.all)]
		if !candidate.restUntil.After(now) {
			best = candidate
			r.next += i
			break
		}
		if candidate.restUntil.Before(best.restUntil) {
			best = candidate
		}
	}
	r.next = (r.next + 1) % len(r.all)
	return best
}

// failed lets rep rest.
func (r *replicas) failed(rep *replica, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rep.restUntil = now.Add(restAfterFailure)
}
