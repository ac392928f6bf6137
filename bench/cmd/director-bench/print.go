package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/cli"
)

// measured is the JSON of a run.
type measured struct {
	Subject string `json:"subject,omitempty"` // "naive" or "no-op" for a baseline
	bench.Result

	Machine machine `json:"machine"`

	label string // for people
}

// measurements are all runs of a benchmark on one machine.
type measurements struct {
	machine machine
	runs    []measured
}

// write prints the runs: as JSON an object, or a list of several.
func (m measurements) write(out cli.Output) error {
	switch {
	case out.JSON && len(m.runs) == 1:
		return cli.WriteJSON(out.Writer, m.runs[0])
	case out.JSON:
		return cli.WriteJSON(out.Writer, m.runs)
	}
	header := []string{"ms", "callers", "calls", "failed", "per second", "p50", "p90", "p99", "p99.9", "max"}
	if err := cli.Write(out, m.lines(), header, lineCells); err != nil {
		return err
	}
	fmt.Fprintln(out.Writer)
	if err := m.writeCosts(out); err != nil {
		return err
	}
	m.writeRemarks(out)
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

// line is a row of the table of latencies.
type line struct {
	name    string
	callers int
	bench.Figures
}

// lines returns the steps of each run, followed by the whole run.
func (m measurements) lines() (all []line) {
	for _, r := range m.runs {
		for _, s := range r.Steps {
			all = append(all, line{s.Name, r.Callers, s.Figures})
		}
		all = append(all, line{r.label, r.Callers, r.Figures})
	}
	return all
}

func lineCells(l line) []any {
	ms := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	at := l.Latency
	return []any{l.name, l.callers, l.Calls, l.Failed, fmt.Sprintf("%.0f", l.PerSecond), ms(at.P50), ms(at.P90),
		ms(at.P99), ms(at.P999), ms(at.Max)}
}

// writeCosts prints the costs per call, if they were measured.
func (m measurements) writeCosts(out cli.Output) error {
	known := slices.DeleteFunc(slices.Clone(m.runs), func(r measured) bool { return r.Costs == nil })
	if len(known) == 0 {
		return nil
	}
	header := []string{"a call costs", "callers", "director cpu", "postgres cpu", "load cpu", "wal", "transactions",
		"calls decided together"}
	if err := cli.Write(out, known, header, costCells); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out.Writer)
	return err
}

func costCells(m measured) []any {
	c := m.Costs
	cpu := func(v float64) string { return fmt.Sprintf("%.1f µs", v) }
	director, postgres := cpu(c.ServerMicros), cpu(c.PostgresMicros)
	if c.ServerMicros == 0 { // it runs elsewhere, or the system does not show the CPU of processes
		director, postgres = "-", "-"
	}
	return []any{
		m.label, m.Callers, director, postgres, cpu(c.GeneratorMicros),
		fmt.Sprintf("%.0f B", c.WALBytes), fmt.Sprintf("%.4f", c.Transactions), groupsText(c.Groups),
	}
}

// groupsText lists the mean batch size of each group.
func groupsText(groups map[string]bench.Group) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		parts = append(parts, fmt.Sprintf("%s %.1f", name, groups[name].MeanCalls))
	}
	return strings.Join(parts, ", ")
}

// writeRemarks prints how runs differed from what was requested.
func (m measurements) writeRemarks(out cli.Output) {
	for _, r := range m.runs {
		who := fmt.Sprintf("%s, %s", r.label, plural(r.Callers, "caller"))
		for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
			fmt.Fprintf(out.Writer, "failed: %d × %s (%s)\n", r.Errors[kind], kind, who)
		}
		if c := r.Costs; c != nil && c.Background != nil {
			fmt.Fprintf(out.Writer, "without calls the director used %.3f CPUs and Postgres %.3f, which the costs do not contain (%s)\n",
				c.Background.ServerCPUs, c.Background.PostgresCPUs, who)
		}
		if o := r.Open; o != nil {
			fmt.Fprintf(out.Writer, "%.0f turns a second were requested, %.0f began: %d never began, %d waited for a free caller; "+
				"the load generator was late by %.2f ms at p50, %.2f at p99 (%s)\n",
				o.Rate, o.Reached, o.Missed, o.Blocked, o.Delay.P50, o.Delay.P99, who)
		}
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func seconds(s float64) string { return fmt.Sprintf("%.1f s", s) }
