package main

import (
	"fmt"

	"github.com/lattice-director/director/bench/proof"
	"github.com/lattice-director/director/internal/cli"
)

// findings are the results of experiments on one machine. Scripts may read their JSON.
type findings struct {
	Quick       bool            `json:"quick"`
	Rounds      int             `json:"rounds"`
	Machine     machine         `json:"machine"`
	Experiments []proof.Section `json:"experiments"`
}

// row is a finding in a table.
type row struct {
	experiment string
	finding    proof.Finding
}

// rows are the findings of all experiments.
func (f findings) rows() (all []row) {
	for _, e := range f.Experiments {
		for _, one := range e.Findings {
			all = append(all, row{e.Name, one})
		}
	}
	return all
}

// countMissed counts targets, for --strict.
func (f findings) countMissed() (missed int) {
	for _, r := range f.rows() {
		if !r.finding.Met {
			missed++
		}
	}
	return missed
}

// write prints the claims, and the runs that they are about.
func (f findings) write(out cli.Output) error {
	if out.JSON {
		return cli.WriteJSON(out.Writer, f)
	}
	header := []string{"experiment", "claim", "measured", "target", "met"}
	err := cli.Write(out, f.rows(), header, func(r row) []any {
		return []any{r.experiment, r.finding.Claim, r.finding.Measured, r.finding.Asked, r.finding.Met}
	})
	if err != nil {
		return err
	}
	for _, r := range f.rows() {
		if r.finding.Note != "" {
			fmt.Fprintf(out.Writer, "%s, %s: %s\n", r.experiment, r.finding.Claim, r.finding.Note)
		}
	}
	for _, e := range f.Experiments {
		fmt.Fprintf(out.Writer, "\n%s\n", e.Title)
		if err := writeRuns(out, e.Runs); err != nil {
			return err
		}
	}
	fmt.Fprintln(out.Writer, f.method())
	_, err = fmt.Fprintln(out.Writer, f.Machine)
	return err
}

// method describes the measurement.
func (f findings) method() string {
	if f.Quick {
		return "A quick run: these figures mean nothing."
	}
	return fmt.Sprintf("Medians of %s. Shown of each arm is the run with the median throughput.", plural(f.Rounds, "round"))
}
