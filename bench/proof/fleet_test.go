package proof

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins heartbeats in bursts, twice for one server and never for another, or with wrong incarnations.
func TestDrummer(t *testing.T) {
	t.Parallel()
	store := storetest.Open(t, dbtest.New(t))
	b := &testbed{pool: store.Pool()}
	require.NoError(t, b.sql(t.Context(), "fleet_instances.sql", "eu", 50))
	members, err := rowsOf[member](t.Context(), store.Pool(), "fleet_members.sql")
	require.NoError(t, err)
	require.Len(t, members, 50)
	members[7].Incarnation = uuid.New() // as of an instance that was replaced
	d := sender{store, members, heartbeatPlan{members: 50, every: 200 * time.Millisecond, over: 400 * time.Millisecond}}
	var into heartbeats
	begun := time.Now()
	require.NoError(t, d.send(t.Context(), &into))
	require.GreaterOrEqual(t, time.Since(begun), 390*time.Millisecond)
	figures := into.figures(d.over)
	require.EqualValues(t, 100, figures.Calls)
	require.EqualValues(t, 2, figures.Failed)
	require.Equal(t, map[string]int64{"superseded": 2}, figures.Errors)
	tables, err := rowsOf[table](t.Context(), store.Pool(), "fleet_tables.sql")
	require.NoError(t, err)
	require.Len(t, tables, 2)

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.send(gone, &into), context.Canceled)
	require.Equal(t, "not sent", kindOf(errors.New("?")))
}

// Pins a load that jumps, or that never moves a server to another bucket.
func TestLoadRisesAndFalls(t *testing.T) {
	t.Parallel()
	highest := 0.0
	for beat := range 480 {
		load, next := loadOf(3, beat), loadOf(3, beat+1)
		require.InDelta(t, load, next, 0.01)
		require.InDelta(t, load, loadOf(3, beat+240), 1e-9)
		require.GreaterOrEqual(t, load, 0.0)
		highest = max(highest, load)
	}
	require.InDelta(t, 0.9, highest, 1e-9)
}

// Pins updates that are not HOT, growth, or unanswered heartbeats that no finding reports.
func TestFleetFindings(t *testing.T) {
	t.Parallel()
	at := func(s int, updates, hot, bytes int64) tableSizes {
		w := tableSizes{time.Duration(s) * time.Second, map[string]table{}}
		for _, name := range []string{leases, modes} {
			w.tables[name] = table{name, updates, hot, bytes}
		}
		return w
	}
	f := &fleetRun{heartbeatPlan: heartbeatPlan{members: 100, every: time.Second, settled: 10 * time.Second, over: 20 * time.Second}, took: 20 * time.Second}
	f.init()
	for range 1990 {
		f.add(time.Millisecond, nil)
	}
	f.add(0, &fault.Error{Kind: fault.Unavailable, Code: "unavailable"})
	f.Batch("heartbeat", 8, 0, 0)
	f.tables = []tableSizes{at(0, 100, 100, 10<<20), at(9, 0, 0, 11<<20), at(11, 1000, 900, 20<<20), at(20, 2100, 2080, 30<<20)}
	f.used = bench.Reading{PostgresCPU: 30 * time.Second}
	found := f.findings(bench.Result{})
	var values []string
	var met []bool
	for _, one := range found {
		values, met = append(values, one.Value), append(met, one.Met)
	}
	require.Equal(t, []string{"99.5 %", "1.50", "99.0 %", "1.50 ×", "1.50 ×"}, values)
	require.Equal(t, []bool{false, false, true, false, false}, met)
	require.Contains(t, found[3].Note, "10 MiB at the begin, 20 MiB after 10s, 30 MiB at the end")
	require.InDelta(t, 99.5, f.result().PerSecond, 1e-9)
	require.EqualValues(t, 1, f.result().Failed)
}
