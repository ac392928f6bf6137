package main

import (
	"fmt"
	"strings"

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

// countTargets counts them, for --strict.
func (f findings) countTargets() (missed, all int) {
	for _, e := range f.Experiments {
		all += len(e.Findings)
		for _, one := range e.Findings {
			if !one.Met {
				missed++
			}
		}
	}
	return missed, all
}

// write prints the claims, and the runs that they are about.
func (f findings) write(out cli.Output) error {
	if out.JSON {
		return cli.WriteJSON(out.Writer, f)
	}
	var lines [][]any
	var notes strings.Builder
	for _, e := range f.Experiments {
		for _, one := range e.Findings {
			lines = append(lines, []any{e.Name, one.Claim, one.Measured, one.Asked, one.Met})
			if one.Note != "" {
				fmt.Fprintf(&notes, "%s, %s: %s\n", e.Name, one.Claim, one.Note)
			}
		}
	}
	if err := writeTable(out, lines, "experiment", "claim", "measured", "target", "met"); err != nil {
		return err
	}
	fmt.Fprint(out.Writer, notes.String())
	for _, e := range f.Experiments {
		fmt.Fprintf(out.Writer, "\n%s\n", e.Title)
		if err := writeRuns(out, e.Runs); err != nil {
			return err
		}
	}
	fmt.Fprintln(out.Writer, f.method())
	_, err := fmt.Fprintln(out.Writer, f.Machine)
	return err
}

// method describes the measurement.
func (f findings) method() string {
	if f.Quick {
		return "A quick run: these figures mean nothing."
	}
	return fmt.Sprintf("Medians of %s. Shown of each arm is the run with the median throughput.", plural(f.Rounds, "round"))
}
