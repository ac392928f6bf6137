// Package proof holds the experiments that test a director's promises: how fast its hot path is, how it scales, and how
// it behaves under overload. An experiment is two tables. Its arms are what is measured: a load on a director or on a
// baseline (package baseline), in a laboratory of its own (package lab). Its claims are what must hold: a measure of the
// arms, and a target.
//
// Measures are ratios and differences of one run on one machine, as medians over rounds in which all arms take turns. A
// missed target is a finding, not an error.
//
// Each experiment is in the file of its name; experiment.go, arm.go, measure.go, claim.go and testbed.go are what they
// share. Package bench generates the loads; `director-bench prove` runs the experiments and prints their findings.
package proof

import (
	"context"
	"errors"
)

// Experiments are all experiments, in the order of the report.
func Experiments() []Experiment {
	return []Experiment{reach, callers, capacity, packing, fleet, growth, snapshot, writer, dashboard, overload,
		regions, openMatch, directorLoop, provision, waiting, rooms, launch, evacuation}
}

// Run measures all arms and judges all claims. Its laboratories are closed when it returns. After an error the findings
// are lost.
func (e Experiment) Run(ctx context.Context, o Options) (Section, error) {
	if o.Rounds = max(o.Rounds, 1); e.isOnce {
		o.Rounds = 1
	}
	all, section := make(rounds, o.Rounds), Section{Name: e.Name, Title: e.Title}
	for i := range all { // parts add their arms to the same rounds
		all[i] = round{}
	}
	for _, p := range e.parts(o) {
		arms, err := p.measure(ctx, o, all)
		if err != nil {
			return Section{}, err
		}
		section.Runs = append(section.Runs, all.typical(arms)...)
	}
	section.Findings = all.judge(e.claims(o))
	return section, nil
}

// measure adds the results of the part's arms to the rounds.
func (p part) measure(ctx context.Context, o Options, all rounds) (arms []arm, err error) {
	if p.prepare != nil {
		end, failed := p.prepare(&p.lab)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	b, err := o.open(ctx, p.lab)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	ctx, end := b.lab.Living(ctx)
	defer end()
	if arms, err = p.arms(ctx, b); err != nil {
		return nil, err
	}
	return arms, all.measure(ctx, o, arms)
}
