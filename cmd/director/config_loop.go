package main

import (
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/openmatch/functions"
)

// loopSettings are how workers decide about the tickets of profiles.
func (c *Config) loopSettings() []setting {
	return []setting{
		{flag: "loop", section: sectionLoop, commands: byLoops, value: booleanValue(&c.RunsLoop),
			help: "Decide about tickets by the profiles of this database. Workers share the profiles among them"},
		{flag: "profiles-require-from", section: sectionLoop, fleetWide: true,
			commands: byServers | byProfiles | byCheck,
			value:    booleanValue(&c.Database.RequireFrom),
			help: "Refuse profiles that use an attribute without saying from whom it is (`from: client`, `claim` or " +
				"`backend`). Not set: `profiles check` and `apply` warn"},
		{flag: "match-history", section: sectionLoop, fleetWide: true, commands: byLoops,
			value: durationOrNone(&c.Worker.MatchRetention, 3650*day),
			help: "How long matches, and the tickets that left the queue, are kept for explanations and replays, in " +
				"whole days. 0: nothing is recorded"},
		{flag: "match-history-attributes", section: sectionLoop, fleetWide: true, commands: byLoops | byReplay,
			value: privacyValue(&c.HistoryPrivacy),
			help: "What this history keeps of players. hashed: unkeyed hashes of their ids and attributes, which show " +
				"only which are equal. none: hashes of their ids. Replays and evacuations need plain"},
	}
}

// privacyValue is what the history keeps of players.
func privacyValue(p *ticketbody.Privacy) value {
	type kept = word[ticketbody.Privacy]
	return oneOf(p, kept{"plain", ticketbody.Plain}, kept{"hashed", ticketbody.Hashed},
		kept{"none", ticketbody.NoAttributes})
}

// maxCandidates bounds the tickets that a worker keeps in memory, at about 1 KiB each; it has been tested with so many.
const maxCandidates = 400_000

// makeMatchmaker makes the matchmaker of this process, which its director loop runs and closes.
func (p *process) makeMatchmaker() (*functions.Matchmaker, error) {
	c := p.conf
	om := c.OpenMatch
	served := c.openMatchOptions()
	return functions.New(functions.Options{
		Store: p.store, Region: c.Server.Universe, Registration: om.Registration, Collection: om.Collection,
		Evaluator: om.EvaluatorURL,
		Functions: om.FunctionHosts, Loopback: served != nil && served.OnLoopback(), FunctionCA: om.FunctionCA,
		MaxBackfill: om.MaxTicket,
		Memory:      int64(c.loopMemory(512 << 20)), Log: p.log, Metrics: p.metricsRegistry,
		Tracer: p.tracing.tracerProvider(),
	})
}

// loopMemory is memoryShare for the director loop. A process that serves Open Match as well has half as much: the
// bounds of the server add up to five eighths of the memory limit.
func (c *Config) loopMemory(most int) int {
	if c.openMatchOptions() != nil {
		return memoryShare(most) / 2
	}
	return memoryShare(most)
}

// loopOptions returns nil if this process runs no director loop.
func (p *process) loopOptions() (o *loop.Options, err error) {
	c := p.conf
	if !c.RunsLoop {
		return nil, nil //nolint:nilnil // worker.Options: nil is none
	}
	if p.matchmaker, err = p.makeMatchmaker(); err != nil {
		return nil, err
	}
	return &loop.Options{
		Store: p.store, Universe: c.Server.Universe, PlayerArg: c.Server.PlayerArg, MaxCandidates: maxCandidates,
		Memory:    c.loopMemory(maxCandidates << 10),
		NoHistory: c.keepsNoHistory(), Privacy: c.HistoryPrivacy, Matchmaker: p.matchmaker, Log: p.log,
		Metrics: p.metricsRegistry,
	}, nil
}
