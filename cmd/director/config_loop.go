package main

import (
	"time"

	"github.com/lattice-director/director/internal/loop"
)

// loopSettings are how workers decide about the tickets of profiles.
func (c *Config) loopSettings() []setting {
	return []setting{
		{flag: "loop", section: sectionLoop, def: "true", by: byLoops, value: boolean(&c.Loop),
			help: "Decide about tickets by the profiles of this database. Workers share the profiles among them"},
		{flag: "loop-lease", section: sectionLoop, def: "1s", fleetWide: true, by: byLoops, value: duration(&c.LoopLease, 200*time.Millisecond, time.Minute),
			help: "How long a worker decides for its profiles without a sign of life; then another worker takes them over"},
		{flag: "loop-candidates", section: sectionLoop, def: "200000", by: byLoops, value: integer(&c.LoopCandidates, 1000, 2_000_000),
			help: "The number of queued tickets that a worker keeps in memory, at about 1 KiB each; beyond it the oldest are kept"},
	}
}

// loopOptions returns nil if this process runs no director loop.
func (p *process) loopOptions() *loop.Options {
	c := p.conf
	if !c.Loop {
		return nil
	}
	return &loop.Options{Store: p.store, Universe: c.OMRegion, PlayerArg: c.OMPlayerArg, Lease: c.LoopLease, MaxCandidates: c.LoopCandidates,
		Log: p.log, Metrics: p.registry}
}
