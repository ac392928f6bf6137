package proof

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/uuid"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// member is a game server of a fleet.
type member struct {
	InstanceID  string
	Incarnation uuid.UUID
}

// sender sends a fleet's heartbeats to a store, each member in its turn: heartbeat i is due at the start + i/rate.
type sender struct {
	store   *db.Store
	members []member
	heartbeatPlan
}

// send sends all heartbeats and returns when they have been answered.
func (d sender) send(ctx context.Context, into *heartbeats) error {
	into.init()
	start, total := time.Now(), int(d.rate()*d.over.Seconds())
	var pending sync.WaitGroup
	defer pending.Wait()
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for n := 0; n < total; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticks.C:
		}
		for until := min(total, int(time.Since(start).Seconds()*d.rate())); n < until; n++ {
			due, turn := start.Add(time.Duration(float64(n)/d.rate()*float64(time.Second))), n
			pending.Go(func() { into.add(time.Since(due), d.one(ctx, turn)) })
		}
	}
	return nil
}

// heartbeatTimeout is a replica's default timeout of a call.
const heartbeatTimeout = callTimeout * time.Millisecond

func (d sender) one(ctx context.Context, turn int) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	at := turn % len(d.members)
	m, load := d.members[at], loadOf(at, turn/len(d.members))
	_, err := d.store.Heartbeat(ctx, db.InstanceRef{InstanceID: m.InstanceID, Incarnation: &m.Incarnation}, &load)
	return err
}

// loadOf is the load of a server that rises and falls within 240 heartbeats, each server at another time.
func loadOf(member, beat int) float64 {
	const period, highest = 240, 0.9
	at := (member*7 + beat) % period
	return highest * float64(min(at, period-at)) / (period / 2)
}

// heartbeats are the results of heartbeats. Safe for concurrent use.
type heartbeats struct {
	mu               sync.Mutex
	succeeded        *hdrhistogram.Histogram // microseconds
	failed           map[string]int64        // by the kind of error
	batches, batched int64
}

var _ db.GroupObserver = (*heartbeats)(nil)

func (b *heartbeats) init() {
	b.succeeded, b.failed = hdrhistogram.New(1, time.Minute.Microseconds(), 3), map[string]int64{}
}

func (b *heartbeats) add(took time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.failed[kindOf(err)]++
		return
	}
	_ = b.succeeded.RecordValue(min(took, time.Minute).Microseconds()) // fails only beyond a minute
}

func kindOf(err error) string {
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known.Code
	}
	return "not sent"
}

// Batch implements [db.GroupObserver].
func (b *heartbeats) Batch(_ string, calls int, _, _ time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batches++
	b.batched += int64(calls)
}

// Panic implements [db.GroupObserver]. The calls of the batch count as failed.
func (b *heartbeats) Panic(string) {}

func (b *heartbeats) figures(over time.Duration) bench.Figures {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := func(percentile float64) float64 { return float64(b.succeeded.ValueAtPercentile(percentile)) / 1000 }
	f := bench.Figures{
		Calls: b.succeeded.TotalCount(), Errors: b.failed,
		PerSecond: float64(b.succeeded.TotalCount()) / over.Seconds(),
		Latency: bench.Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9),
			Max: float64(b.succeeded.Max()) / 1000},
	}
	for _, n := range b.failed {
		f.Calls, f.Failed = f.Calls+n, f.Failed+n
	}
	return f
}
