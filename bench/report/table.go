package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
)

// table is a table of runs, a row for each run and for each of its steps.
type table struct {
	Caption string
	Groups  []columns
	Rows    []row
}

// group of columns with a common header
type columns struct {
	Title string
	Names []string
}

type row struct {
	Name  string
	Step  bool // the row is a step of the run above
	Cells []string
	Note  string // shown below the table
}

// tables returns the tables of runs: the calls, how open loops kept to their schedule, and the costs if measured.
func tables(runs []Run) (all []table) {
	if len(runs) == 0 {
		return nil
	}
	all = append(all, calls(runs))
	for _, t := range []table{schedules(runs), costs(runs)} {
		if len(t.Rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

func calls(runs []Run) table {
	t := table{Caption: "Calls", Groups: []columns{
		{"Load", []string{"callers", "game servers", "seconds"}},
		{"Calls", []string{"all", "failed", "per second"}},
		{"Latency, ms", []string{"p50", "p90", "p99", "p99.9", "max"}},
	}}
	for _, r := range runs {
		load := []string{Whole(float64(r.Callers)), Whole(float64(r.Instances)), figures(r.Seconds)}
		t.Rows = append(t.Rows, row{Name: r.name(), Cells: append(load, measured(r.Figures)...),
			Note: failures(r.Figures)})
		for _, s := range r.Steps {
			t.Rows = append(t.Rows, row{Name: s.Name, Step: true,
				Cells: append([]string{"", "", ""}, measured(s.Figures)...)})
		}
	}
	return t
}

// measured fills the columns after the load.
func measured(f bench.Figures) []string {
	well, l := f.Calls-f.Failed, f.Latency
	cells := []string{Whole(float64(f.Calls)), Whole(float64(f.Failed)), Whole(f.PerSecond)}
	return append(cells, latencies(well, l.P50, l.P90, l.P99, l.P999, l.Max)...)
}

// latencies formats latencies in milliseconds.
func latencies(calls int64, ms ...float64) []string {
	cells := make([]string, len(ms))
	for i := range ms {
		if cells[i] = none; calls > 0 {
			cells[i] = figures(ms[i])
		}
	}
	return cells
}

// failures lists failures by kind, the most frequent first, and their latencies.
func failures(f bench.Figures) string {
	if f.Failed == 0 {
		return ""
	}
	kinds := slices.Sorted(maps.Keys(f.Errors))
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(f.Errors[b], f.Errors[a]) })
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s × %s", Whole(float64(f.Errors[kind])), kind)
	}
	l := f.FailedLatency
	return fmt.Sprintf("failed: %s (p50 %s ms, p99 %s ms)", strings.Join(kinds, ", "), figures(l.P50), figures(l.P99))
}

func schedules(runs []Run) table {
	t := table{Caption: "Open loop: calls are due at a rate, whatever the answers; latency counts from when they were due", Groups: []columns{
		{"Calls per second", []string{"requested", "began", "succeeded"}},
		{"Calls", []string{"begun late, all callers waiting", "never begun"}},
		{"Generator late, ms", []string{"p50", "p99", "max"}},
	}}
	for _, r := range runs {
		if o := r.Open; o != nil {
			cells := []string{Whole(o.Rate), Whole(o.Reached), Whole(r.PerSecond), Whole(float64(o.Blocked)),
				Whole(float64(o.Missed))}
			t.Rows = append(t.Rows, row{Name: r.name(),
				Cells: append(cells, latencies(1, o.Late.P50, o.Late.P99, o.Late.Max)...)})
		}
	}
	return t
}

func costs(runs []Run) table {
	t := table{Caption: "Costs of a call", Groups: []columns{
		{"Load", []string{"callers"}},
		{"CPU, µs", []string{"server", "Postgres", "both", "generator"}},
		{"Postgres", []string{"WAL bytes", "transactions"}},
		{"Server", []string{"decided together, mean", "memory"}},
	}}
	for _, r := range runs {
		if c := r.Costs; c != nil {
			t.Rows = append(t.Rows, row{Name: r.name(), Cells: []string{
				Whole(float64(r.Callers)),
				figures(c.ServerMicros), figures(c.PostgresMicros), figures(c.ServerMicros + c.PostgresMicros),
				figures(c.GeneratorMicros),
				Whole(c.WALBytes), figures(c.Transactions), r.means(), memory(c.ServerRSS),
			}})
		}
	}
	return t
}

// means lists the mean batch sizes of a run's groups.
func (r Run) means() string {
	names := r.groups()
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %s", name, figures(r.Costs.Groups[name].MeanCalls))
	}
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}
