package main

import (
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/openmatch/functions"
)

// makeMatchmaker makes the matchmaker of this process, which its director loop runs and closes. It takes its limits
// from the settings of Open Match, also where Open Match is not served: profiles may name match functions.
func (p *process) makeMatchmaker() (*functions.Matchmaker, error) {
	c := p.conf
	om := c.config.OpenMatch
	served := c.config.openMatchOptions()
	return functions.New(functions.Options{
		Store: p.store, Universe: c.config.Server.Universe, Registration: om.Registration, Collection: om.Collection,
		Evaluator: om.EvaluatorURL,
		Functions: om.FunctionHosts, Loopback: served != nil && served.OnLoopback(), FunctionCA: om.FunctionCA,
		MaxBackfill: om.MaxTicket,
		Memory:      int64(c.config.loopMemory(512 << 20)), Log: p.log, Metrics: p.metricsRegistry,
		Tracer: p.tracing.tracerProvider(),
	})
}

// makeLoopOptions makes the matchmaker of the process and the options of its director loop, or nil if the process runs
// none.
func (p *process) makeLoopOptions() (o *loop.Options, err error) {
	c := p.conf
	if !c.config.RunsLoop {
		return nil, nil //nolint:nilnil // worker.Options: nil is none
	}
	if p.matchmaker, err = p.makeMatchmaker(); err != nil {
		return nil, err
	}
	return &loop.Options{
		Store: p.store, Universe: c.config.Server.Universe, PlayerArg: c.config.Server.PlayerArg, MaxCandidates: maxCandidates,
		Memory:    c.config.loopMemory(maxCandidates << 10),
		NoHistory: c.config.keepsNoHistory(), Privacy: c.config.HistoryPrivacy, Matchmaker: p.matchmaker, Log: p.log,
		Metrics: p.metricsRegistry,
	}, nil
}

// maxCandidates bounds the tickets that a worker keeps in memory, at about 1 KiB each. It has been tested with that
// many.
const maxCandidates = 400_000
