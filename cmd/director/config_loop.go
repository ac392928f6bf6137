package main

import "github.com/lattice-director/director/internal/matching/ticketbody"

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
			value: durationOrNoneValue(&c.Worker.MatchRetention, 3650*day),
			help: "How long matches, and the tickets that left the queue, are kept for explanations and replays, in " +
				"whole days. 0: nothing is recorded"},
		// Also of `replay`, which has to find the tickets of players by what is recorded of them.
		{flag: "match-history-attributes", section: sectionLoop, fleetWide: true, commands: byLoops | byReplay,
			value: privacyValue(&c.HistoryPrivacy),
			help: "What this history keeps of players. hashed: unkeyed hashes of their ids and of the values of " +
				"attributes, which show only which are equal; names of attributes, tags and latencies stay plain. " +
				"none: hashes of their ids. Replays and evacuations need plain"},
	}
}

// privacyValue is what the history keeps of players; see ticketbody.Privacy.
func privacyValue(p *ticketbody.Privacy) value {
	type privacyWord = word[ticketbody.Privacy]
	return oneOf(p, privacyWord{"plain", ticketbody.Plain}, privacyWord{"hashed", ticketbody.Hashed},
		privacyWord{"none", ticketbody.NoAttributes})
}

// loopMemory is memoryShare for the director loop. In a process that serves Open Match as well it is half of that: the
// bounds of openMatchOptions already add up to five eighths of the memory limit.
func (c *Config) loopMemory(maxBytes int) int {
	if c.openMatchOptions() != nil {
		return memoryShare(maxBytes) / 2
	}
	return memoryShare(maxBytes)
}
