package main

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/lattice-director/director/bench"
)

// machine is where a measurement was made: without it figures say little.
type machine struct {
	CPUs     int    `json:"cpus"` // that this process may use
	CPU      string `json:"cpu"`
	Platform string `json:"platform"`
	Go       string `json:"go"`
	Director string `json:"director"`
	Postgres string `json:"postgres,omitempty"` // of the director that was started for it
}

func machineHere(postgres string) machine {
	b := buildVersion()
	return machine{runtime.GOMAXPROCS(0), cpuModel(), b.Platform, b.Go, b.Version, postgres}
}

// cpuModel is what the kernel calls the processor, or its architecture where it does not tell.
func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, model, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
			return cmp.Or(strings.TrimSpace(model), runtime.GOARCH)
		}
	}
	return runtime.GOARCH
}

// measured is what is printed.
type measured struct {
	bench.Result

	Machine machine `json:"machine"`
}

func (m measured) write(out output) error {
	if out.json {
		return writeJSON(out.to, m)
	}
	header := []string{"ms", "calls", "failed", "per second", "p50", "p90", "p99", "p99.9", "max"}
	all := append(slices.Clone(m.Steps), bench.Step{Name: m.Scenario, Figures: m.Figures})
	if err := write(out, all, header, stepCells); err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(m.Errors)) {
		fmt.Fprintf(out.to, "failed: %d × %s\n", m.Errors[kind], kind)
	}
	fmt.Fprintf(out.to, "\n%d callers, %d game servers, %.1f s after a warm-up of %.1f s\n", m.Callers, m.Instances, m.Seconds, m.WarmUp)
	fmt.Fprintf(out.to, "%d × %s, %s, %s, director %s", m.Machine.CPUs, m.Machine.CPU, m.Machine.Platform, m.Machine.Go, m.Machine.Director)
	if m.Machine.Postgres != "" {
		fmt.Fprintf(out.to, ", Postgres %s", m.Machine.Postgres)
	}
	fmt.Fprintln(out.to)
	return nil
}

func stepCells(s bench.Step) []any {
	ms := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	l := s.Latency
	return []any{s.Name, s.Calls, s.Failed, fmt.Sprintf("%.0f", s.PerSecond), ms(l.P50), ms(l.P90), ms(l.P99), ms(l.P999), ms(l.Max)}
}
