package main

import (
	"fmt"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/proof"
	"github.com/lattice-director/director/internal/cli"
)

// findings are the results of experiments on one machine.
type findings struct {
	quick   bool
	rounds  int
	machine machine
	all     []experiment
}

type experiment struct {
	name string
	proof.Section
}

// finding is the JSON of a finding. Scripts may read it.
type finding struct {
	Claim    string `json:"claim"`
	Measured string `json:"measured"` // with its unit
	Asked    string `json:"asked"`    // with its unit
	Met      bool   `json:"met"`
	Note     string `json:"note,omitempty"`

	experiment string
}

func (e experiment) findings() (all []finding) {
	for _, f := range e.Findings {
		all = append(all, finding{f.Name, f.Value, f.Target, f.Met, f.Note, e.name})
	}
	return all
}

func (f findings) list() (all []finding) {
	for _, e := range f.all {
		all = append(all, e.findings()...)
	}
	return all
}

func (f findings) missed() (missed, asked int) {
	for _, one := range f.list() {
		if !one.Met {
			missed++
		}
	}
	return missed, len(f.list())
}

// provenRun is the JSON of a run of an experiment.
type provenRun struct {
	Name string `json:"name"`
	bench.Result
}

// proven is the JSON of an experiment.
type proven struct {
	Name     string      `json:"name"`
	Title    string      `json:"title"`
	Findings []finding   `json:"findings"`
	Runs     []provenRun `json:"runs"`
}

func (e experiment) proven() proven {
	p := proven{e.name, e.Title, append([]finding{}, e.findings()...), []provenRun{}}
	for _, r := range e.Runs {
		p.Runs = append(p.Runs, provenRun{r.Name, r.Result})
	}
	return p
}

func (f findings) write(out cli.Output) error {
	if out.JSON {
		return f.writeJSON(out)
	}
	header := []string{"experiment", "claim", "measured", "target", "met"}
	err := cli.Write(out, f.list(), header,
		func(f finding) []any { return []any{f.experiment, f.Claim, f.Measured, f.Asked, f.Met} })
	if err != nil {
		return err
	}
	fmt.Fprintln(out.Writer)
	for _, one := range f.list() {
		if one.Note != "" {
			fmt.Fprintf(out.Writer, "%s, %s: %s\n", one.experiment, one.Claim, one.Note)
		}
	}
	fmt.Fprintln(out.Writer, f.method())
	_, err = fmt.Fprintln(out.Writer, f.machine)
	return err
}

func (f findings) writeJSON(out cli.Output) error {
	all := []proven{}
	for _, e := range f.all {
		all = append(all, e.proven())
	}
	return cli.WriteJSON(out.Writer, struct {
		Quick       bool     `json:"quick"`
		Rounds      int      `json:"rounds"`
		Machine     machine  `json:"machine"`
		Experiments []proven `json:"experiments"`
	}{f.quick, f.rounds, f.machine, all})
}

// method describes the measurement.
func (f findings) method() string {
	if f.quick {
		return "A quick run: these figures mean nothing."
	}
	return fmt.Sprintf("Medians of %s.", plural(f.rounds, "round"))
}
