package main

import "time"

// fleetSettings returns the settings of leases, seats, tokens, keys and limits.
func (c *Config) fleetSettings() []setting {
	return []setting{
		{flag: "lease-ttl", section: sectionSessions, fleetWide: true, commands: byServers,
			value: durationValue(&c.Database.Timing.LeaseTTL, time.Second, time.Hour),
			help: "How long an instance counts as alive after a heartbeat. Game servers should send a heartbeat every " +
				"third of it: change their interval together with it"},
		{flag: "seat-ttl", section: sectionSessions, fleetWide: true, commands: byServers,
			value: durationValue(&c.Database.Timing.SeatTTL, time.Second, time.Hour),
			help:  "A reserved seat that is not resolved is freed after this time"},
		{flag: "unreported-seat-ttl", section: sectionSessions, fleetWide: true, commands: byServers,
			value: durationValue(&c.Database.Timing.UnreportedSeatTTL, time.Minute, 30*day),
			help: "A resolved seat is freed after this time if the game server does not report seats. Set it longer than " +
				"your longest match"},
		// A variable for each mode, which givenValue knows by the > at the end of its name.
		{flag: "mode", env: modePrefix + "<MODE>", section: sectionSessions, commands: byServers,
			value: modeSizesValue(&c.Server.Modes),
			help: "The seats of a session of that mode when the request has no max_players; 8 without this setting. " +
				"DIRECTOR_MODE_DUEL=2 also applies to duel, DIRECTOR_MODE_FREE_FOR_ALL=16 also to free_for_all and " +
				"free-for-all. The flag is --mode duel=2,free-for-all=16"},

		// Also of `keys rotate`: how long keys are published follows from it.
		{flag: "session-token-ttl", section: sectionTokens, fleetWide: true, commands: byLoops | byKeys,
			value: durationValue(&c.Database.Timing.TokenTTL, 5*time.Second, 10*time.Minute),
			help:  "How long a session token is valid"},
		{flag: "netcode-timeout", section: sectionTokens, fleetWide: true, commands: byServers,
			value: durationValue(&c.Database.Timing.NetcodeTimeout, time.Second, 5*time.Minute),
			help:  "Netcode servers and clients end a connection after this time without a packet"},
		{flag: "key-encryption-key", section: sectionTokens, secret: true, fleetWide: true, start: true,
			commands: byLoops | byKeys | byDeploy | byProjects,
			value:    keksValue(&c.KEKs),
			help: "Encrypts the private signing keys, the netcode keys and the secrets of projects' keys in the " +
				"database, and authenticates deployed servers. The first key encrypts, all of them decrypt. Required. " +
				"`openssl rand -base64 32` makes one. In the private Postgres of `director dev` the key of its data " +
				"directory encrypts"},
		// Of whatever makes keys: a key keeps its alg, so that it need not be the same everywhere.
		{flag: "token-alg", section: sectionTokens, commands: byLoops | byKeys,
			value: choiceValue(&c.Worker.Alg, "EdDSA", "Ed25519"),
			help: "The alg of new keys and their tokens. Ed25519 is the fully specified name of RFC 9864: first check " +
				"that your game servers' JWT libraries support it"},

		{flag: "call-timeout", section: sectionLimits, commands: byServers,
			value: durationValue(&c.Server.CallTimeout, 50*time.Millisecond, time.Minute),
			help:  "A call that is not decided within this time gets 503"},
		{flag: "max-in-flight", section: sectionLimits, commands: byServers,
			value: integerValue(&c.Server.MaxInFlight, 1, 1_000_000),
			help: "The number of concurrent player calls in a replica, and separately of game server calls; further " +
				"calls get 503 at once"},
		{flag: "player-rate", section: sectionLimits, commands: byServers, value: rateValue(&c.Server.CallerRate),
			help: "A player's calls per second to a replica, on average. 0: no limit"},
		// The callers of tests have one address, and some of them are refused on purpose.
		{flag: "failure-rate", section: sectionLimits, unlisted: true, commands: byServers,
			value: rateValue(&c.Server.FailureRate),
			help: "Failed authentications per second from one address, on average. Successful ones do not count. 0: no " +
				"limit"},

		// Of `serve` alone: `work` is nothing else, and `dev` always has a worker.
		{flag: "work", section: sectionWorkers, start: true, commands: byServe, value: booleanValue(&c.RunsWorker),
			help: "`serve` also runs a worker, for small installations"},
		{flag: "webhook-hosts", section: sectionWorkers, fleetWide: true, commands: byLoops,
			value: listValue(&c.Worker.WebhookHosts, "hosts (*. for all below), addresses or CIDRs"),
			help: "The hosts of webhooks (`director webhooks`), judged by the address that a name resolves to right before " +
				"each connection. Loopback must be named; link-local addresses and metadata services of clouds are never " +
				"called. Not set: nothing is delivered"},
		// A day at least: history is deleted by dropping partitions of whole days.
		// Of workers with different ones the shortest counts: each deletes what is older than its own.
		{flag: "history-retention", section: sectionWorkers, commands: byLoops,
			value: durationValue(&c.Worker.Retention, day, 3650*day),
			help:  "How long history, events and expired keys are kept; whole days"},

		{flag: "pools", section: sectionDev, start: true, commands: byDev, value: textValue(&c.PoolsFile, "a file"),
			help: "A file of app versions and pools, which is applied at the start as `director pools apply` does"},
	}
}

// devSettings returns the settings of local development.
func (c *Config) devSettings() []setting {
	return []setting{
		// Also of commands on a database: without DATABASE_URL they use that of a running `director dev`.
		{flag: "data", section: sectionDev, start: true,
			commands: byDev | byToken | byOperator | byMigrate | byProviders | byHints,
			value:    textValue(&c.DataDir, "a directory"),
			help: "The directory of `dev`'s Postgres and keys, where other commands find them. Not set: " +
				"/var/lib/director for root, else ~/.local/state/director (macOS: ~/Library/Application " +
				"Support/director)"},
		// Beside --data, for a key that another machine's `dev` has made.
		{flag: "issuer-key", section: sectionDev, commands: byToken,
			value: textValue(&c.IssuerKey, "a file with a private JWK"),
			help: "The key with which `token mint` and `director-bench --url` sign. Not set: issuer.jwk in the data " +
				"directory, which `dev` creates"},
	}
}
