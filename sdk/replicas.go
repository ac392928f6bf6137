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
	mu          sync.Mutex
	allReplicas []*replica
	nextIndex   int
}

type replica struct {
	baseURL   string
	skipUntil time.Time
}

func newReplicas(bases []string) *replicas {
	r := &replicas{nextIndex: rand.IntN(len(bases))}
	for _, base := range bases {
		r.allReplicas = append(r.allReplicas, &replica{baseURL: base})
	}
	return r
}

func (r *replicas) replicaCount() int { return len(r.allReplicas) }

// pickReplica returns the next replica that is not in its cooldown. When all are, it returns the one whose cooldown
// ends first.
func (r *replicas) pickReplica(now time.Time) *replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	best := r.allReplicas[r.nextIndex]
	for i := range r.allReplicas {
		candidate := r.allReplicas[(r.nextIndex+i)%len(r.allReplicas)]
		if !candidate.skipUntil.After(now) {
			best = candidate
			r.nextIndex += i
			break
		}
		if candidate.skipUntil.Before(best.skipUntil) {
			best = candidate
		}
	}
	r.nextIndex = (r.nextIndex + 1) % len(r.allReplicas)
	return best
}

// noteFailure starts rep's cooldown.
func (r *replicas) noteFailure(rep *replica, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rep.skipUntil = now.Add(failureCooldown)
}
