package bench

import (
	"context"
	"maps"
	"time"
)

// Meter tells what the director that is measured has used so far. Package bench/lab has one for a director of its own.
type Meter interface {
	// Read is called twice in a run: at the end of the warm-up and after the last answer. An error ends the run.
	Read(ctx context.Context) (Reading, error)
}

// Reading is counters since some start. Those that a meter cannot tell stay 0 in all its readings.
type Reading struct {
	ServerCPU    time.Duration // of all replicas together, user and system
	PostgresCPU  time.Duration // of Postgres with all its processes, those that have ended too
	GeneratorCPU time.Duration // of this process
	WALBytes     int64
	Transactions int64              // committed or rolled back
	Flights      map[string]Flights // by group (place, resolve, heartbeat, report, register), of all replicas together
	ServerRSS    int64              // bytes of memory that the largest replica holds now; no counter
}

// Sub is what was used between an earlier reading and this one. ServerRSS stays what it is now.
func (r Reading) Sub(earlier Reading) Reading {
	r.ServerCPU -= earlier.ServerCPU
	r.PostgresCPU -= earlier.PostgresCPU
	r.GeneratorCPU -= earlier.GeneratorCPU
	r.WALBytes -= earlier.WALBytes
	r.Transactions -= earlier.Transactions
	flights := make(map[string]Flights, len(r.Flights))
	for group, f := range r.Flights {
		flights[group] = f.sub(earlier.Flights[group])
	}
	r.Flights = flights
	return r
}

// Flights of a group, in which calls that arrive together are decided together, as a histogram of calls a flight.
type Flights struct {
	Count   int64             // of flights
	Calls   int64             // that flew
	Buckets map[float64]int64 // flights of so many calls or fewer, by the bucket's upper bound: cumulative, as Prometheus has them
}

// Add is two replicas' flights together.
func (f Flights) Add(other Flights) Flights {
	sum := Flights{f.Count + other.Count, f.Calls + other.Calls, maps.Clone(f.Buckets)}
	if sum.Buckets == nil {
		sum.Buckets = map[float64]int64{}
	}
	for bound, n := range other.Buckets {
		sum.Buckets[bound] += n
	}
	return sum
}

func (f Flights) sub(earlier Flights) Flights {
	left := Flights{f.Count - earlier.Count, f.Calls - earlier.Calls, make(map[float64]int64, len(f.Buckets))}
	for bound, n := range f.Buckets {
		left.Buckets[bound] = n - earlier.Buckets[bound]
	}
	return left
}
