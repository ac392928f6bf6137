package bench

import (
	"context"
	"maps"
	"time"
)

// Meter measures the resources that a director has used so far. Package bench/lab has one for a director that it
// starts.
type Meter interface {
	// Read is called twice in a run: at the end of the warm-up and after the last answer. An error ends the run.
	Read(ctx context.Context) (Reading, error)
}

// Reading is a set of counters. Counters that a meter cannot measure are always 0.
type Reading struct {
	ServerCPU    time.Duration // of all replicas together, user and system
	PostgresCPU  time.Duration // of all processes of Postgres, including ended ones
	GeneratorCPU time.Duration // of this process
	WALBytes     int64
	Transactions int64 // committed or rolled back
	// by group, as in the metrics (placement, resolve, heartbeat, seats and others), of all replicas together
	Batches   map[string]Batches
	ServerRSS int64 // bytes of memory of the largest replica now; not a counter
}

// Sub returns what was used between an earlier reading and this one. ServerRSS is this reading's.
func (r Reading) Sub(earlier Reading) Reading {
	r.ServerCPU -= earlier.ServerCPU
	r.PostgresCPU -= earlier.PostgresCPU
	r.GeneratorCPU -= earlier.GeneratorCPU
	r.WALBytes -= earlier.WALBytes
	r.Transactions -= earlier.Transactions
	batches := make(map[string]Batches, len(r.Batches))
	for group, b := range r.Batches {
		batches[group] = b.sub(earlier.Batches[group])
	}
	r.Batches = batches
	return r
}

// Batches of a group of calls, as a histogram of calls per batch. A director decides calls that arrive together in one
// batch.
type Batches struct {
	Count int64 // of batches
	Calls int64 // in all batches
	// number of batches of at most so many calls, by the bucket's upper bound: cumulative, as in Prometheus
	Buckets map[float64]int64
}

// Add returns the sum of the batches of two replicas.
func (f Batches) Add(other Batches) Batches {
	sum := Batches{f.Count + other.Count, f.Calls + other.Calls, maps.Clone(f.Buckets)}
	if sum.Buckets == nil {
		sum.Buckets = map[float64]int64{}
	}
	for bound, n := range other.Buckets {
		sum.Buckets[bound] += n
	}
	return sum
}

func (f Batches) sub(earlier Batches) Batches {
	left := Batches{f.Count - earlier.Count, f.Calls - earlier.Calls, make(map[float64]int64, len(f.Buckets))}
	for bound, n := range f.Buckets {
		left.Buckets[bound] = n - earlier.Buckets[bound]
	}
	return left
}
