package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/lattice-director/director/bench/report"
)

// writeReport writes the runs as a page.
func (m measurements) writeReport(path string) error { return writePage(path, m.page()) }

func writePage(path string, page report.Report) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := report.Write(file, page); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// writePlots writes each plot as a picture: reach-1.svg is the first plot of the experiment reach.
func (f findings) writePlots(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, e := range f.all {
		for i, plot := range e.Plots {
			var picture bytes.Buffer
			if err := report.SVG(&picture, plot); err != nil {
				return err
			}
			name := filepath.Join(dir, fmt.Sprintf("%s-%d.svg", e.name, i+1))
			//nolint:gosec // Pictures are to be seen.
			if err := os.WriteFile(name, picture.Bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m measurements) page() report.Report {
	var runs []report.Run
	for _, r := range m.runs {
		runs = append(runs, report.Run{Name: r.name, Result: r.Result})
	}
	first := m.runs[0]
	return report.Report{
		Title: "director-bench " + m.scenario,
		Text: fmt.Sprintf("Measured with %s and %d game servers, %s after a warm-up of %s.",
			plural(first.Replicas, "replica"), first.Instances, seconds(first.Seconds), seconds(first.WarmUp)),
		Machine: m.machine.facts(),
		Sections: []report.Section{{
			Title: m.scenario, Runs: runs,
			Plots: []report.Plot{report.Throughput(runs), report.CPU(runs), report.Latencies(runs),
				report.GroupSizes(runs)},
		}},
	}
}

func (m machine) facts() []report.Fact {
	facts := []report.Fact{
		{Name: "CPUs", Value: strconv.Itoa(m.CPUs)}, {Name: "CPU", Value: m.CPU}, {Name: "Platform", Value: m.Platform},
		{Name: "Go", Value: m.Go},
	}
	if m.Director != "" {
		facts = append(facts, report.Fact{Name: "Director", Value: m.Director})
	}
	if m.Postgres != "" {
		facts = append(facts, report.Fact{Name: "Postgres", Value: m.Postgres})
	}
	if m.Awake {
		facts = append(facts, report.Fact{Name: "Sleep", Value: keptAwake})
	}
	if m.Stolen > 0 {
		facts = append(facts, report.Fact{Name: "Noise", Value: m.stolen()})
	}
	return append(facts, report.Fact{Name: "Measured", Value: time.Now().UTC().Format(time.DateOnly)})
}
