package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/proof"
	"github.com/lattice-director/director/internal/cli"
)

// measured is the JSON of a run.
type measured struct {
	bench.Result

	Machine machine `json:"machine"`
}

// measurements are all runs of a benchmark on one machine.
type measurements struct {
	machine machine
	runs    []proof.Run
}

// write prints the runs: as JSON an object, or a list of several.
func (m measurements) write(out cli.Output) error {
	if out.JSON {
		var all []measured
		for _, r := range m.runs {
			all = append(all, measured{r.Result, m.machine})
		}
		if len(all) == 1 {
			return cli.WriteJSON(out.Writer, all[0])
		}
		return cli.WriteJSON(out.Writer, all)
	}
	if err := writeRuns(out, m.runs); err != nil {
		return err
	}
	first := m.runs[0]
	fmt.Fprintf(out.Writer, "%s, %s after a warm-up of %s\n", sizes(first.Result), seconds(first.Seconds),
		seconds(first.WarmUp))
	_, err := fmt.Fprintln(out.Writer, m.machine)
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
func writeRuns(out cli.Output, runs []proof.Run) error {
	header := []string{"ms", "callers", "calls", "failed", "per second", "p50", "p90", "p99", "p99.9", "max"}
	if err := cli.Write(out, latencyLines(runs), header, line.cells); err != nil {
		return err
	}
	fmt.Fprintln(out.Writer)
	if known := slices.DeleteFunc(slices.Clone(runs), func(r proof.Run) bool { return r.Costs == nil }); len(known) > 0 {
		header := []string{"a call costs", "callers", "director cpu", "postgres cpu", "load cpu", "wal",
			"transactions", "calls decided together"}
		if err := cli.Write(out, known, header, costCells); err != nil {
			return err
		}
		fmt.Fprintln(out.Writer)
	}
	for _, r := range runs {
		writeRemarks(out, r)
	}
	return nil
}

// line is a row of the table of latencies.
type line struct {
	name    string
	callers int
	figures bench.Figures
}

// latencyLines returns the steps of each run, followed by the whole run.
func latencyLines(runs []proof.Run) (all []line) {
	for _, r := range runs {
		for _, s := range r.Steps {
			all = append(all, line{s.Name, r.Callers, s.Figures})
		}
		all = append(all, line{r.Name, r.Callers, r.Figures})
	}
	return all
}

func (l line) cells() []any {
	ms := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	f, at := l.figures, l.figures.Latency
	return []any{l.name, l.callers, f.Calls, f.Failed, fmt.Sprintf("%.0f", f.PerSecond), ms(at.P50), ms(at.P90),
		ms(at.P99), ms(at.P999), ms(at.Max)}
}

func costCells(r proof.Run) []any {
	c := r.Costs
	cpu := func(v float64) string { return fmt.Sprintf("%.1f µs", v) }
	director, postgres := cpu(c.ServerMicros), cpu(c.PostgresMicros)
	if c.ServerMicros == 0 { // it runs elsewhere, or the system does not show the CPU of processes
		director, postgres = "-", "-"
	}
	return []any{
		r.Name, r.Callers, director, postgres, cpu(c.GeneratorMicros), fmt.Sprintf("%.0f B", c.WALBytes),
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
func writeRemarks(out cli.Output, r proof.Run) {
	who := fmt.Sprintf("%s, %s", r.Name, plural(r.Callers, "caller"))
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

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func seconds(s float64) string { return fmt.Sprintf("%.1f s", s) }
