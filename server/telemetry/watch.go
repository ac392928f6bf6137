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

// Watch registers what is read from the store and the keys when somebody scrapes. Nothing of it asks the database. What
// is not known is NaN.
func (m *Metrics) Watch(store *db.Store, keys *keyring.Keeper) error {
	all := append(poolCollectors(store), clockCollectors(store)...)
	return m.register(append(all, keyCollectors(keys)...)...)
}

func gauge(name, help string, read func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
}

func counter(name, help string, read func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read)
}

func poolCollectors(store *db.Store) []prometheus.Collector {
	pool := store.Pool()
	return []prometheus.Collector{
		gauge("director_db_connections_in_use", "Connections to the database that somebody uses now.",
			func() float64 { return float64(pool.Stat().AcquiredConns()) }),
		gauge("director_db_connections_open", "Connections to the database, in use, idle and being made.",
			func() float64 { return float64(pool.Stat().TotalConns()) }),
		gauge("director_db_connections_max", "Connections that this process may open.",
			func() float64 { return float64(pool.Stat().MaxConns()) }),
		counter("director_db_connections_made_total", "Connections made since the start.",
			func() float64 { return float64(pool.Stat().NewConnsCount()) }),
		counter("director_db_acquires_total", "How often a connection was taken from the pool.",
			func() float64 { return float64(pool.Stat().AcquireCount()) }),
		counter("director_db_acquires_waited_total", "How often somebody had to wait for a connection.",
			func() float64 { return float64(pool.Stat().EmptyAcquireCount()) }),
		counter("director_db_acquires_given_up_total", "How often somebody gave up waiting for a connection.",
			func() float64 { return float64(pool.Stat().CanceledAcquireCount()) }),
		counter("director_db_acquire_wait_seconds_total", "Time spent waiting for connections.",
			func() float64 { return pool.Stat().EmptyAcquireWaitTime().Seconds() }),
	}
}

func clockCollectors(store *db.Store) []prometheus.Collector {
	return []prometheus.Collector{
		gauge("director_clock_offset_seconds", "What is added to this machine's clock to have the database's.", func() float64 {
			if r, ok := store.ClockReading(); ok {
				return r.Offset.Seconds()
			}
			return math.NaN()
		}),
		gauge("director_clock_reading_age_seconds", "Time since the clock was last compared with the database's.", func() float64 {
			if r, ok := store.ClockReading(); ok {
				return store.Now().Sub(r.At.Add(r.Offset)).Seconds()
			}
			return math.NaN()
		}),
	}
}

func keyCollectors(keys *keyring.Keeper) []prometheus.Collector {
	of := func(read func(keyring.State) float64) func() float64 {
		return func() float64 {
			if s, ok := keys.State(); ok {
				return read(s)
			}
			return math.NaN()
		}
	}
	return []prometheus.Collector{
		gauge("director_signing_keys_age_seconds", "Time since the signing keys were last read.",
			of(func(s keyring.State) float64 { return s.Age.Seconds() })),
		gauge("director_signing_keys_published", "Keys in the key set: current, next and retiring.",
			of(func(s keyring.State) float64 { return float64(s.Published) })),
		gauge("director_signing_key_turn_seconds", "Time until the next key signs; 0 when none signs now.",
			of(func(s keyring.State) float64 { return s.TurnLeft.Seconds() })),
	}
}

// snapshotAge is sampled and not read when somebody scrapes: a database that is away would hold up the scrape.
type snapshotAge struct{ seconds atomic.Uint64 }

func (a *snapshotAge) collector() prometheus.Collector {
	a.set(math.NaN())
	return gauge("director_oldest_snapshot_age_seconds", "How long the oldest snapshot has kept vacuum from cleaning.",
		func() float64 { return math.Float64frombits(a.seconds.Load()) })
}

func (a *snapshotAge) set(seconds float64) { a.seconds.Store(math.Float64bits(seconds)) }

// SampleEvery is how often SampleSnapshot should be called.
const SampleEvery = 10 * time.Second

// SampleSnapshot asks the database for the age of its oldest snapshot. Errors: db.Unavailable; the age is unknown then.
func (m *Metrics) SampleSnapshot(ctx context.Context, store *db.Store) error {
	age, err := store.OldestSnapshotAge(ctx)
	if err != nil {
		m.snapshot.set(math.NaN())
		return err
	}
	m.snapshot.set(age.Seconds())
	return nil
}
