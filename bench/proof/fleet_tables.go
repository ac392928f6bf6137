package proof

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// table is a table that heartbeats write to: its updates so far, and its size with indexes.
type table struct {
	Name                string
	Updates, Hot, Bytes int64
}

// tableSizes are the tables by name, at a time since the first heartbeat.
type tableSizes struct {
	at     time.Duration
	tables map[string]table
}

const (
	leases = "instance_leases"
	modes  = "instance_modes"
)

// sampleTables reads the tables until done: before the first heartbeat, at intervals, and after the last.
func (f *fleetRun) sampleTables(ctx context.Context, b *testbed, begun time.Time, done <-chan struct{}) error {
	ticks := time.NewTicker(f.settled / 10)
	defer ticks.Stop()
	for over := false; ; {
		tables, err := rowsOf[table](ctx, b.pool, "fleet_tables.sql")
		if err != nil {
			return err
		}
		w := tableSizes{time.Since(begun), map[string]table{}}
		for _, t := range tables {
			w.tables[t.Name] = t
		}
		f.tables = append(f.tables, w)
		if over {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-done:
			over = true
		case <-ticks.C:
		}
	}
}

// rowsOf runs a query from a file.
func rowsOf[T any](ctx context.Context, pool *pgxpool.Pool, file string, args ...any) ([]T, error) {
	text, err := statements.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := pool.Query(ctx, string(text), args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// at returns the first sample of a table from a time on, or else the last one.
func (f *fleetRun) at(since time.Duration, name string) table {
	for _, w := range f.tables {
		if w.at >= since {
			return w.tables[name]
		}
	}
	return f.last(name)
}

func (f *fleetRun) last(name string) table { return f.tables[len(f.tables)-1].tables[name] }

// hot is the share of HOT updates: they stay on their page and write no index.
func (f *fleetRun) hot(name string) float64 {
	first, last := f.at(0, name), f.last(name)
	return float64(last.Hot-first.Hot) / float64(last.Updates-first.Updates)
}

// grown is the size of a table at the end divided by its size after it had settled.
func (f *fleetRun) grown(name string) float64 {
	return float64(f.last(name).Bytes) / float64(f.at(f.settled, name).Bytes)
}
