package telemetry

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/keyring"
)

// Clock is the database's clock; db.Store implements it.
type Clock interface {
	LatestClockReading() (r db.ClockReading, ok bool)
	Now() time.Time
}

// Keys is the state of the signing keys; keyring.Keeper implements it.
type Keys interface {
	CurrentState() (state keyring.State, ok bool)
}

// Watch registers the metrics that are read from the store and the keys at each scrape. Reading them needs no query.
// Unknown values are NaN: 0 would look like a right clock, or like keys that were just read.
func (m *Metrics) Watch(store *db.Store, keys Keys) error {
	all := append(poolCollectors(store), clockCollectors(store)...)
	return m.registerAll(append(all, keyCollectors(keys)...)...)
}

func gaugeFunc(name, help string, read func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
}

func counterFunc(name, help string, read func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read)
}

func poolCollectors(store *db.Store) []prometheus.Collector {
	pool := store.Pool()
	return []prometheus.Collector{
		gaugeFunc("director_db_connections_in_use", "Database connections in use.",
			func() float64 { return float64(pool.Stat().AcquiredConns()) }),
		gaugeFunc("director_db_connections_open", "Database connections in use, idle or being opened.",
			func() float64 { return float64(pool.Stat().TotalConns()) }),
		gaugeFunc("director_db_connections_max", "Largest number of database connections of this process.",
			func() float64 { return float64(pool.Stat().MaxConns()) }),
		counterFunc("director_db_connections_made_total", "Database connections opened since the start.",
			func() float64 { return float64(pool.Stat().NewConnsCount()) }),
		counterFunc("director_db_acquires_total", "Connections acquired from the pool.",
			func() float64 { return float64(pool.Stat().AcquireCount()) }),
		counterFunc("director_db_acquires_waited_total", "Connections acquired from the pool after a wait.",
			func() float64 { return float64(pool.Stat().EmptyAcquireCount()) }),
		counterFunc("director_db_acquires_given_up_total", "Waits for a connection that were canceled or timed out.",
			func() float64 { return float64(pool.Stat().CanceledAcquireCount()) }),
		counterFunc("director_db_acquire_wait_seconds_total", "Time spent waiting for connections.",
			func() float64 { return pool.Stat().EmptyAcquireWaitTime().Seconds() }),
	}
}

func clockCollectors(clock Clock) []prometheus.Collector {
	return []prometheus.Collector{
		gaugeFunc("director_clock_offset_seconds", "Database time minus the time of this machine's clock.",
			func() float64 {
				if r, ok := clock.LatestClockReading(); ok {
					return r.Offset.Seconds()
				}
				return math.NaN()
			}),
		gaugeFunc("director_clock_reading_age_seconds", "Time since the clock was last compared with the database's.",
			func() float64 {
				if r, ok := clock.LatestClockReading(); ok {
					return clock.Now().Sub(r.MeasuredAt.Add(r.Offset)).Seconds()
				}
				return math.NaN()
			}),
	}
}

func keyCollectors(keys Keys) []prometheus.Collector {
	of := func(field func(keyring.State) float64) func() float64 {
		return func() float64 {
			if s, ok := keys.CurrentState(); ok {
				return field(s)
			}
			return math.NaN()
		}
	}
	return []prometheus.Collector{
		gaugeFunc("director_signing_keys_age_seconds", "Time since the signing keys were last read.",
			of(func(s keyring.State) float64 { return s.ReadingAge.Seconds() })),
		gaugeFunc("director_signing_keys_published", "Keys in the published key set: current, next and retiring.",
			of(func(s keyring.State) float64 { return float64(s.PublishedKeys) })),
		gaugeFunc("director_signing_key_turn_seconds", "Time until the next key signs, 0 when no key signs now.",
			of(func(s keyring.State) float64 { return s.TurnLeft.Seconds() })),
	}
}

// snapshotAge is sampled and not read at each scrape: a scrape would have to wait for a database that does not answer.
type snapshotAge struct{ seconds atomic.Uint64 }

func (a *snapshotAge) collector() prometheus.Collector {
	a.setSeconds(math.NaN())
	return gaugeFunc("director_oldest_snapshot_age_seconds",
		"Age of the database's oldest snapshot, which holds vacuum back.",
		func() float64 { return math.Float64frombits(a.seconds.Load()) })
}

func (a *snapshotAge) setSeconds(seconds float64) { a.seconds.Store(math.Float64bits(seconds)) }

// SampleEvery is the interval in which SampleSnapshot should be called.
const SampleEvery = 10 * time.Second

// SnapshotStore is the part of db.Store that SampleSnapshot needs.
type SnapshotStore interface {
	OldestSnapshotAge(ctx context.Context) (time.Duration, error)
}

// SampleSnapshot reads the age of the database's oldest snapshot. Errors: fault.Unavailable, after which the age is
// unknown.
func (m *Metrics) SampleSnapshot(ctx context.Context, store SnapshotStore) error {
	age, err := store.OldestSnapshotAge(ctx)
	if err != nil {
		// The last age would look like a healthy one.
		m.snapshot.setSeconds(math.NaN())
		return err
	}
	m.snapshot.setSeconds(age.Seconds())
	return nil
}
