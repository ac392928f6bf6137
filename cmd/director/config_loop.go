package main

import (
	"time"

	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/openmatch/functions"
)

// loopSettings are how workers decide about the tickets of profiles.
func (c *Config) loopSettings() []setting {
	return []setting{
		{flag: "loop", section: sectionLoop, def: "true", by: byLoops, value: boolean(&c.Loop),
			help: "Decide about tickets by the profiles of this database. Workers share the profiles among them"},
		{flag: "loop-lease", section: sectionLoop, def: "1s", fleetWide: true, by: byLoops, value: duration(&c.LoopLease, 200*time.Millisecond, time.Minute),
			help: "How long a worker decides for its profiles without a sign of life; then another worker takes them over"},
		{flag: "loop-candidates", section: sectionLoop, def: "200000", by: byLoops | byExplain, value: integer(&c.LoopCandidates, 1000, 2_000_000),
			help: "The number of queued tickets that a worker keeps in memory, at about 1 KiB each and in at most a quarter of the memory limit, " +
				"and that an explanation of a ticket reads; " +
				"if there are more, the oldest are kept"},
		{flag: "match-history", section: sectionLoop, def: "168h", fleetWide: true, by: byLoops, value: duration(&c.MatchHistory, 0, 3650*day),
			help: "How long matches, and the tickets that left the queue, are kept for explanations and replays, in whole days. 0: nothing is recorded"},
		{flag: "match-history-attributes", section: sectionLoop, def: "plain", fleetWide: true, by: byLoops | byReplay,
			value: choice(&c.MatchHistoryAttributes, "plain", "hashed", "none"),
			help: "What this history keeps of players. hashed: unkeyed hashes of their ids and attributes, which show only which are equal. " +
				"none: hashes of their ids. Replays need plain"},
	}
}

// privacy returns what the history keeps of players.
func (c *Config) privacy() ticketbody.Privacy {
	switch c.MatchHistoryAttributes {
	case "hashed":
		return ticketbody.Hashed
	case "none":
		return ticketbody.NoAttributes
	}
	return ticketbody.Plain
}

// matchmaker makes the matchmaker of this process, which its director loop runs and closes.
func (p *process) matchmaker() (*functions.Matchmaker, error) {
	c := p.conf
	served := c.openMatchOptions()
	return functions.New(functions.Options{
		Store: p.store, Region: c.OMRegion, Registration: c.OMRegistration, Collection: c.OMCollection, Evaluator: c.OMEvaluator,
		Functions: c.OMFunctions, Loopback: served != nil && served.OnLoopback(), FunctionCA: c.OMFunctionCA, MaxBackfill: c.OMMaxTicket,
		Memory: int64(c.loopMemory(c.OMProposalMemory, 512<<20)), Log: p.log, Metrics: p.registry, Tracer: p.tracing.provider(),
	})
}

// loopMemory is memoryOr for the director loop. In a process that serves Open Match, too, it has half as much by default: the
// bounds of the server add up to five eighths of the memory limit.
func (c *Config) loopMemory(set, most int) int {
	if set == 0 && c.openMatchOptions() != nil {
		return memoryOr(0, most) / 2
	}
	return memoryOr(set, most)
}

// loopOptions returns nil if this process runs no director loop.
func (p *process) loopOptions() (o *loop.Options, err error) {
	c := p.conf
	if !c.Loop {
		return nil, nil //nolint:nilnil // worker.Options: nil is none
	}
	if p.functions, err = p.matchmaker(); err != nil {
		return nil, err
	}
	return &loop.Options{Store: p.store, Universe: c.OMRegion, PlayerArg: c.OMPlayerArg, Lease: c.LoopLease, MaxCandidates: c.LoopCandidates,
		Memory: c.loopMemory(0, c.LoopCandidates<<10), NoHistory: c.MatchHistory == 0, Privacy: c.privacy(), Matchmaker: p.functions, Log: p.log, Metrics: p.registry}, nil
}
