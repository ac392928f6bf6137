package db_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// BenchmarkPlace places new players. The name says how many callers place at once.
func BenchmarkPlace(b *testing.B) {
	for _, callers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			store, err := db.Open(b.Context(), db.Config{URL: dbtest.New(b), Timing: db.DefaultTiming()})
			require.NoError(b, err)
			b.Cleanup(store.Close)
			for i := range 10 {
				id := fmt.Sprintf("i%d", i)
				_, err := store.Register(b.Context(), db.Registration{InstanceID: id, Endpoint: id + ":1", Region: "eu", Modes: []string{"duel"}, Capacity: 100_000})
				require.NoError(b, err)
			}
			var n atomic.Int64
			for range 500 { // rows for the planner's statistics, as after the first seconds of an installation
				_, err := store.Place(b.Context(), request(fmt.Sprintf("early%d", n.Add(1)), 8))
				require.NoError(b, err)
			}
			_, err = store.Pool().Exec(b.Context(), "ANALYZE")
			require.NoError(b, err)
			b.SetParallelism((callers + 1) / 2) // of GOMAXPROCS goroutines each
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := store.Place(b.Context(), request(fmt.Sprintf("p%d", n.Add(1)), 8)); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "placements/s")
		})
	}
}

// BenchmarkRecordedSeats places 2,000 players by 256 callers, in turn in a database that does not record seats and in one
// that does, and reports how much longer the second takes.
func BenchmarkRecordedSeats(b *testing.B) {
	var stores [2]*db.Store
	for i := range stores {
		store, err := db.Open(b.Context(), db.Config{URL: dbtest.New(b), Timing: db.DefaultTiming()})
		require.NoError(b, err)
		b.Cleanup(store.Close)
		for server := range 10 {
			id := fmt.Sprintf("i%d", server)
			_, err := store.Register(b.Context(), db.Registration{InstanceID: id, Endpoint: id + ":1", Region: "eu", Modes: []string{"duel"}, Capacity: 100_000})
			require.NoError(b, err)
		}
		stores[i] = store
	}
	_, err := stores[1].As("").RecordEvents(b.Context(), "seat", true)
	require.NoError(b, err)
	var took [2]time.Duration
	var n atomic.Int64
	for b.Loop() {
		for i, store := range stores {
			began := time.Now()
			var callers errgroup.Group
			for range 256 {
				callers.Go(func() error {
					for range 8 {
						if _, err := store.Place(b.Context(), request(fmt.Sprintf("p%d", n.Add(1)), 8)); err != nil {
							return err
						}
					}
					return nil
				})
			}
			require.NoError(b, callers.Wait())
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "recorded/unrecorded")
}

// BenchmarkResolve resolves seats on game servers that people started. The name says how many callers resolve at once.
func BenchmarkResolve(b *testing.B) {
	for _, callers := range []int{1, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			store, err := db.Open(b.Context(), db.Config{URL: dbtest.New(b), Timing: db.DefaultTiming()})
			require.NoError(b, err)
			b.Cleanup(store.Close)
			_, err = store.Register(b.Context(), db.Registration{InstanceID: "i", Endpoint: "i:1", Region: "eu", Modes: []string{"duel"}, Capacity: 100_000})
			require.NoError(b, err)
			var handles []string
			for i := range 2000 {
				placed, err := store.Place(b.Context(), request(fmt.Sprintf("p%d", i), 8))
				require.NoError(b, err)
				handles = append(handles, placed.SessionHandle)
			}
			_, err = store.Pool().Exec(b.Context(), "ANALYZE")
			require.NoError(b, err)
			var n atomic.Int64
			b.SetParallelism((callers + 1) / 2) // of GOMAXPROCS goroutines each
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := int(n.Add(1)) % len(handles)
					if _, err := store.Resolve(b.Context(), handles[i], fmt.Sprintf("p%d", i)); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "resolves/s")
		})
	}
}
