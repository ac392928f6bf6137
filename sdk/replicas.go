package sdk

import (
	"math/rand/v2"
	"sync"
	"time"
)

// failureCooldown is how long the client skips a replica after a failed call: about the time of a restart.
const failureCooldown = 2 * time.Second

// replicas returns base URLs in turn and skips those that failed within [failureCooldown]. It starts at a random one,
// so that game servers that start together do not all call the same replica.
type replicas struct {
	mu   sync.Mutex
	list []*replica
	next int
}

type replica struct {
	base      string
	skipUntil time.Time
}

func newReplicas(bases []string) *replicas {
	r := &replicas{next: rand.IntN(len(bases))}
	for _, base := range bases {
		r.list = append(r.list, &replica{base: base})
	}
	return r
}

func (r *replicas) count() int { return len(r.list) }

// pick returns the next replica that is not in its cooldown. When all are, it returns the one whose cooldown ends
// first.
func (r *replicas) pick(now time.Time) *replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	best := r.list[r.next]
	for i := range r.list {
		candidate := r.list[(r.next+i)%len(r.list)]
		if !candidate.skipUntil.After(now) {
			best = candidate
			r.next += i
			break
		}
		if candidate.skipUntil.Before(best.skipUntil) {
			best = candidate
		}
	}
	r.next = (r.next + 1) % len(r.list)
	return best
}

// failed starts rep's cooldown.
func (r *replicas) failed(rep *replica, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rep.skipUntil = now.Add(failureCooldown)
}
