package proof

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/bench/report"
)

// table is one that heartbeats write to: what was written so far, and its size with its indexes.
type table struct {
	Name                string
	Updates, Hot, Bytes int64
}

// weighed are the tables by name at a time since the first beat.
type weighed struct {
	at     time.Duration
	tables map[string]table
}

const (
	leases = "instance_leases"
	modes  = "instance_modes"
)

// weigh looks at the tables until done: before the first beat, now and then, and after the last.
func (f *drummed) weigh(ctx context.Context, b *bed, begun time.Time, done <-chan struct{}) error {
	ticks := time.NewTicker(f.settled / 10)
	defer ticks.Stop()
	for over := false; ; {
		tables, err := rowsOf[table](ctx, b.pool, "fleet_tables.sql")
		if err != nil {
			return err
		}
		w := weighed{time.Since(begun), map[string]table{}}
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

// rowsOf reads what a statement that stands in a file answers.
func rowsOf[T any](ctx context.Context, pool *pgxpool.Pool, file string) ([]T, error) {
	text, err := statements.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := pool.Query(ctx, string(text))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// at is the first look at a table from a time on, or else the last one.
func (f *drummed) at(since time.Duration, name string) table {
	for _, w := range f.tables {
		if w.at >= since {
			return w.tables[name]
		}
	}
	return f.last(name)
}

func (f *drummed) last(name string) table { return f.tables[len(f.tables)-1].tables[name] }

// hot is the share of a table's updates that stayed on their page and left its indexes alone.
func (f *drummed) hot(name string) float64 {
	first, last := f.at(0, name), f.last(name)
	return float64(last.Hot-first.Hot) / float64(last.Updates-first.Updates)
}

// grown is the size of a table at the end beside that when it had settled.
func (f *drummed) grown(name string) float64 {
	return float64(f.last(name).Bytes) / float64(f.at(f.settled, name).Bytes)
}

// sizes are the tables over the time.
func (f *drummed) sizes() report.Plot {
	p := report.Plot{Title: "Size with indexes", X: report.Axis{Title: "seconds"}, Y: report.Axis{Title: "MiB"}}
	for _, name := range slices.Sorted(maps.Keys(f.tables[0].tables)) {
		line := report.Series{Name: name}
		for _, w := range f.tables {
			line.X, line.Y = append(line.X, w.at.Seconds()), append(line.Y, float64(w.tables[name].Bytes)/(1<<20))
		}
		p.Series = append(p.Series, line)
	}
	return p
}
