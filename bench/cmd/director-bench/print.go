package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/cli"
)

// measured is the JSON of a run.
type measured struct {
	bench.Result

	Machine machine `json:"machine"`
}

// writeMeasurements prints the runs of a benchmark on one machine: as JSON an object, or a list of several.
func writeMeasurements(out cli.Output, on machine, runs []bench.Result) error {
	if out.JSON {
		var all []measured
		for _, r := range runs {
			all = append(all, measured{r, on})
		}
		if len(all) == 1 {
			return cli.WriteJSON(out.Writer, all[0])
		}
		return cli.WriteJSON(out.Writer, all)
	}
	if err := writeRuns(out, runs); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out.Writer, "%s, %.1f s after a warm-up of %.1f s\n%s\n", sizes(runs[0]), runs[0].Seconds,
		runs[0].WarmUp, on)
	return err
}

// sizes describes the load, except for its callers.
func sizes(r bench.Result) string {
	parts := []string{plural(r.Replicas, "replica")}
	for _, p := range []struct {
		n    int
		what string
	}{
		{r.Instances, "game server"}, {r.Agents, "agent"}, {r.Connections, "connection"}, {r.Tickets, "ticket"},
		{r.Watchers, "watcher"}, {r.Sessions, "session"},
	} {
		if p.n > 0 {
			parts = append(parts, plural(p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// writeRuns prints the latencies of runs, the costs of their calls, and how they differed from what was requested.
func writeRuns(out cli.Output, runs []bench.Result) error {
	var lines [][]any
	for _, r := range runs {
		for _, step := range r.Steps {
			lines = append(lines, latencyCells(step.Step, r.Callers, step))
		}
		lines = append(lines, latencyCells(nameOf(r), r.Callers, r.Figures))
	}
	if err := writeTable(out, lines, "ms", "callers", "calls", "failed", "per second", "p50", "p90", "p99", "p99.9",
		"max"); err != nil {
		return err
	}
	fmt.Fprintln(out.Writer)
	var costs [][]any // of a director elsewhere whose database is not known, there are none
	for _, r := range runs {
		if r.Costs != nil {
			costs = append(costs, costCells(r))
		}
	}
	if len(costs) > 0 {
		if err := writeTable(out, costs, "a call costs", "callers", "director cpu", "postgres cpu", "load cpu", "wal",
			"transactions", "calls decided together"); err != nil {
			return err
		}
		fmt.Fprintln(out.Writer)
	}
	for _, r := range runs {
		writeRemarks(out, r)
	}
	return nil
}

// writeTable prints lines of cells.
func writeTable(out cli.Output, lines [][]any, header ...string) error {
	return cli.Write(out, lines, header, func(cells []any) []any { return cells })
}

// nameOf is the name of a run in the tables: an experiment has several of the same scenario.
func nameOf(r bench.Result) string { return cmp.Or(r.Name, r.Scenario) }

// latencyCells are the cells of a step or of a whole run.
func latencyCells(name string, callers int, f bench.Figures) []any {
	cells := []any{name, callers, f.Calls, f.Failed, fmt.Sprintf("%.0f", f.PerSecond)}
	for _, ms := range []float64{f.Latency.P50, f.Latency.P90, f.Latency.P99, f.Latency.P999, f.Latency.Max} {
		cells = append(cells, fmt.Sprintf("%.2f", ms))
	}
	return cells
}

// costCells are the cells of what a call of a run cost.
func costCells(r bench.Result) []any {
	c := r.Costs
	cpu := func(v float64) string { return fmt.Sprintf("%.1f µs", v) }
	director, postgres := cpu(c.ServerMicros), cpu(c.PostgresMicros)
	if c.ServerMicros == 0 { // it runs elsewhere, or the system does not show the CPU of processes
		director, postgres = "-", "-"
	}
	return []any{
		nameOf(r), r.Callers, director, postgres, cpu(c.GeneratorMicros), fmt.Sprintf("%.0f B", c.WALBytes),
		fmt.Sprintf("%.4f", c.Transactions),
		listed(c.Groups, func(g bench.Group) string { return fmt.Sprintf("%.1f", g.MeanCalls) }),
	}
}

// listed lists the entries of a map by their names.
func listed[V any](values map[string]V, show func(V) string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, name+" "+show(values[name]))
	}
	return strings.Join(parts, ", ")
}

// writeRemarks prints how a run differed from what was requested, and what it measured besides calls.
func writeRemarks(out cli.Output, r bench.Result) {
	who := fmt.Sprintf("%s, %s", nameOf(r), plural(r.Callers, "caller"))
	for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
		fmt.Fprintf(out.Writer, "failed: %d × %s (%s)\n", r.Errors[kind], kind, who)
	}
	if len(r.Values) > 0 {
		values := listed(r.Values, func(v float64) string { return fmt.Sprintf("%.5g", v) })
		fmt.Fprintf(out.Writer, "%s (%s)\n", values, who)
	}
	if c := r.Costs; c != nil && c.Background != nil {
		fmt.Fprintf(out.Writer,
			"without calls the director used %.3f CPUs and Postgres %.3f, which the costs do not contain (%s)\n",
			c.Background.ServerCPUs, c.Background.PostgresCPUs, who)
	}
	if o := r.Open; o != nil {
		fmt.Fprintf(out.Writer, "%.0f turns a second were requested, %.0f began: %d never began, %d waited for a free caller; "+
			"the load generator was late by %.2f ms at p50, %.2f at p99 (%s)\n",
			o.Rate, o.Reached, o.Missed, o.Blocked, o.Delay.P50, o.Delay.P99, who)
	}
}

// plural counts things.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
