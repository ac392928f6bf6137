package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

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
	Sizes     []Size  `json:"sizes"`      // ascending; the last has no bound
}

// Size is a bucket of the histogram of calls per batch.
type Size struct {
	UpTo    float64 `json:"up_to"`   // calls; more than the bucket before. 0 in the last: no bound
	Batches int64   `json:"batches"` // in this bucket alone
}

// costs divides the reading by the number of calls.
func (r Reading) costs(calls int64) *Costs {
	if calls == 0 {
		calls = 1 // without any answer the costs are those of the whole run
	}
	per := func(v float64) float64 { return v / float64(calls) }
	micros := func(d time.Duration) float64 { return per(float64(d) / float64(time.Microsecond)) }
	c := &Costs{
		ServerMicros: micros(r.ServerCPU), PostgresMicros: micros(r.PostgresCPU),
		GeneratorMicros: micros(r.GeneratorCPU),
		WALBytes:        per(float64(r.WALBytes)), Transactions: per(float64(r.Transactions)),
		Groups: map[string]Group{}, ServerRSS: r.ServerRSS,
	}
	for name, f := range r.Batches {
		if f.Count > 0 {
			c.Groups[name] = f.group()
		}
	}
	return c
}

func (f Batches) group() Group {
	g := Group{Batches: f.Count, MeanCalls: float64(f.Calls) / float64(f.Count)}
	var below int64
	for _, bound := range slices.Sorted(maps.Keys(f.Buckets)) {
		g.Sizes = append(g.Sizes, Size{bound, f.Buckets[bound] - below})
		below = f.Buckets[bound]
	}
	g.Sizes = append(g.Sizes, Size{0, f.Count - below})
	return g
}

// costMeter measures what a run uses.
type costMeter struct {
	run  *run
	fail context.CancelCauseFunc // ends the run

	begun    chan struct{} // closed when answered and before are set
	answered int64
	before   Reading
	start    time.Time // when before was read

	background Reading       // used before the load
	rested     time.Duration // in which it was used; 0: it was not measured
}

func newCostMeter(r *run, fail context.CancelCauseFunc) *costMeter {
	return &costMeter{run: r, fail: fail, begun: make(chan struct{})}
}

// rest measures what is used while nothing is called. Without Options.Background it returns at once.
func (s *costMeter) rest(ctx context.Context) error {
	if s.run.Meter == nil || s.run.Background == 0 {
		return nil
	}
	s.run.enter("measuring without calls")
	before, err := s.read(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if !pause(ctx, s.run.Background) {
		return context.Cause(ctx)
	}
	s.rested = time.Since(start)
	after, err := s.read(ctx)
	s.background = after.Sub(before)
	return err
}

// begin reads the meter for the first time during the load.
func (s *costMeter) begin(ctx context.Context) {
	defer close(s.begun)
	if s.run.Meter == nil {
		return
	}
	s.answered = s.run.record.answered.Load()
	var err error
	if s.before, err = s.read(ctx); err != nil {
		s.fail(err)
	}
	s.start = time.Now()
}

// end reads the meter again and returns what was used in between; nil without a meter.
func (s *costMeter) end(ctx context.Context) (*Costs, error) {
	<-s.begun
	if s.run.Meter == nil {
		return nil, nil //nolint:nilnil // costs are not measured
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	after, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	used, answered := after.Sub(s.before), s.run.record.answered.Load()-s.answered
	if s.rested == 0 {
		return used.costs(answered), nil
	}
	costs := used.without(s.background, float64(time.Since(s.start))/float64(s.rested)).costs(answered)
	costs.Background = s.background.asBackground(s.rested)
	return costs, nil
}

// without returns the reading less a share of another one.
func (r Reading) without(other Reading, share float64) Reading {
	part := func(n int64) int64 { return int64(float64(n) * share) }
	r.ServerCPU -= time.Duration(part(int64(other.ServerCPU)))
	r.PostgresCPU -= time.Duration(part(int64(other.PostgresCPU)))
	r.GeneratorCPU -= time.Duration(part(int64(other.GeneratorCPU)))
	r.WALBytes -= part(other.WALBytes)
	r.Transactions -= part(other.Transactions)
	return r
}

func (r Reading) asBackground(over time.Duration) *Background {
	return &Background{over.Seconds(), float64(r.ServerCPU) / float64(over), float64(r.PostgresCPU) / float64(over)}
}

func (s *costMeter) read(ctx context.Context) (Reading, error) {
	r, err := s.run.Meter.Read(ctx)
	if err != nil {
		return r, fmt.Errorf("the meter of costs cannot be read: %w", err)
	}
	return r, nil
}
