package bench

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// Meter measures the resources that a director has used so far. Package bench/lab has one for a director that it
// starts.
type Meter interface {
	// Read is called at the end of the warm-up and after the last answer. An error ends the run.
	Read(ctx context.Context) (Reading, error)
}

// Reading is a set of counters. Counters that a meter cannot measure are always 0.
type Reading struct {
	ServerCPU    time.Duration // of all replicas together, user and system
	PostgresCPU  time.Duration // of all processes of Postgres, including ended ones
	GeneratorCPU time.Duration // of this process
	WALBytes     float64
	Transactions float64 // committed or rolled back
	// Batches are by group, as in the metrics (placement, resolve, heartbeat, seats and others), of all replicas together.
	Batches   map[string]Batches
	ServerRSS int64 // bytes of memory of the largest replica now; not a counter
}

// Batches of a group of calls. A director decides calls that arrive together in one batch.
type Batches struct {
	Count float64 // of batches
	Calls float64 // in all batches
}

// Plus adds a multiple of another reading, except for its memory.
func (r Reading) Plus(other Reading, factor float64) Reading {
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) * factor) }
	r.ServerCPU += scaled(other.ServerCPU)
	r.PostgresCPU += scaled(other.PostgresCPU)
	r.GeneratorCPU += scaled(other.GeneratorCPU)
	r.WALBytes += factor * other.WALBytes
	r.Transactions += factor * other.Transactions
	// The map is made anew: r is a copy, but shares the map of the original.
	sum := map[string]Batches{}
	maps.Copy(sum, r.Batches)
	for group, b := range other.Batches {
		sum[group] = Batches{sum[group].Count + factor*b.Count, sum[group].Calls + factor*b.Calls}
	}
	r.Batches = sum
	return r
}

// Costs are the resources that a run used, per call. Calls are whole turns, as in the Figures of a Result, and include
// those that failed.
type Costs struct {
	ServerMicros    float64          `json:"server_micros"`    // µs of CPU a call
	PostgresMicros  float64          `json:"postgres_micros"`  // µs of CPU a call
	GeneratorMicros float64          `json:"generator_micros"` // µs of CPU a call
	WALBytes        float64          `json:"wal_bytes"`        // a call
	Transactions    float64          `json:"transactions"`     // a call
	Groups          map[string]Group `json:"groups,omitempty"` // by name; those that made a batch
	ServerRSS       int64            `json:"server_rss"`       // bytes at the end, of the largest replica

	Background *Background `json:"background,omitempty"` // which the costs do not contain; nil when it was not measured
}

// Background is the CPU that is used without any calls, in CPUs: 1 is a whole one.
type Background struct {
	Seconds      float64 `json:"seconds"` // of the measurement
	ServerCPUs   float64 `json:"server_cpus"`
	PostgresCPUs float64 `json:"postgres_cpus"`
}

// Group is how many calls were grouped into batches.
type Group struct {
	Batches   int64   `json:"batches"`
	MeanCalls float64 `json:"mean_calls"` // per batch
}

// costs divides the reading by the number of calls.
func (r Reading) costs(calls int64) *Costs {
	n := float64(max(calls, 1)) // without any answer the costs are those of the whole run
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / n }
	c := &Costs{
		ServerMicros: micros(r.ServerCPU), PostgresMicros: micros(r.PostgresCPU),
		GeneratorMicros: micros(r.GeneratorCPU),
		WALBytes:        r.WALBytes / n, Transactions: r.Transactions / n, Groups: map[string]Group{},
		ServerRSS: r.ServerRSS,
	}
	for name, b := range r.Batches {
		if b.Count > 0 {
			c.Groups[name] = Group{int64(b.Count), b.Calls / b.Count}
		}
	}
	return c
}

// usage is what was used until a moment of a run, or between two.
type usage struct {
	lasted  time.Duration
	turns   int64   // that ended, in the warm-up too
	reading Reading // zero without a meter
}

// measureUsage reads the meter of the job, if it has one.
func (r *run) measureUsage(ctx context.Context) (u usage, err error) {
	u.turns = r.record.answered.Load()
	if meter := r.job.Options.Meter; meter != nil {
		if u.reading, err = meter.Read(ctx); err != nil {
			err = fmt.Errorf("the meter of costs cannot be read: %w", err)
		}
	}
	u.lasted = time.Since(r.begin)
	return u, err
}

// measureBackground measures what is used while nothing is called. Without Options.Background it returns at once.
func (r *run) measureBackground(ctx context.Context) (background usage, err error) {
	if r.job.Options.Meter == nil || r.job.Options.Background == 0 {
		return background, nil
	}
	r.job.Enter("measuring without calls")
	before, err := r.measureUsage(ctx)
	if err == nil {
		err = Pause(ctx, r.job.Options.Background)
	}
	if err != nil {
		return background, err
	}
	after, err := r.measureUsage(ctx)
	return after.minus(before), err
}

// minus is what was used since.
func (u usage) minus(before usage) usage {
	return usage{u.lasted - before.lasted, u.turns - before.turns, u.reading.Plus(before.reading, -1)}
}

// costs are those of a turn, without the background that was measured before the load; zero when it was not.
func (u usage) costs(background usage) *Costs {
	if background.lasted == 0 {
		return u.reading.costs(u.turns)
	}
	costs := u.reading.Plus(background.reading, -float64(u.lasted)/float64(background.lasted)).costs(u.turns)
	costs.Background = &Background{background.lasted.Seconds(),
		float64(background.reading.ServerCPU) / float64(background.lasted),
		float64(background.reading.PostgresCPU) / float64(background.lasted)}
	return costs
}
